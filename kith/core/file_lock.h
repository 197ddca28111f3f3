#pragma once

#include <string>

namespace kith {

/// A file that stands for the right to change something, which one process at
/// a time can have. The file stays: removing it would let two have the right.
class FileLock {
 public:
  /// Makes the file if need be. RunError if it cannot be written.
  explicit FileLock(const std::string& path);
  /// Gives the right back, unless a child process has inherited it.
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// Takes the right, if no other process has it.
  bool try_lock();

 private:
  int file_ = -1;
};

}  // namespace kith
