#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>
#include <sys/user.h>

namespace kith {

/// A call of the kernel that a traced thread is about to make.
struct Call {
  std::string name;          ///< "write" for write, pwrite64 and writev.
  std::string path;          ///< What it is about; of a rename the new name.
  std::string other;         ///< Of a rename the old name.
  bool changes = false;      ///< Whether it writes, makes or removes.
  uint64_t* size = nullptr;  ///< Bytes to read or write, where it may be fewer.
};

/// A thread that has stopped before a call or after it (x86-64).
class Tracee {
 public:
  explicit Tracee(pid_t id);

  /// Without a name: none of those that are watched.
  Call call();

  /// Leaves the call out and gives -code as its result.
  void fail(int code);
  /// After the call: -code is its result.
  void set_result(int code);
  /// Keeps what was changed through Call::size.
  void store();

 private:
  std::string text_at(uint64_t address) const;
  std::string path_of_file(uint64_t descriptor) const;
  std::string path_at(uint64_t folder, uint64_t address) const;

  pid_t id_;
  user_regs_struct registers_{};
};

/// Lets this process, and what it starts, stop at the watched calls. False if
/// the system does not allow it.
bool stop_at_watched_calls();

}  // namespace kith
