#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "kith/core/timer.h"
#include "kith/core/with_parent.h"

namespace kith {

/// How a process ended.
struct ProcessEnd {
  std::string name;
  int exit_code = -1;  ///< -1 if a signal ended it.
  int signal = 0;
  double seconds = 0.0;

  bool succeeded() const { return exit_code == 0; }
  /// "exit status 1", "killed by signal 9".
  std::string text() const;
};

/// Child processes that run beside each other, without a shell.
class ProcessPool {
 public:
  ProcessPool() = default;
  /// Stops those that still run.
  ~ProcessPool();
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;

  /// Starts a program, argv[0] being its path. Its output is added to the file
  /// `log`; it has no input. It has this process's environment with `changes`
  /// (name, value). RunError if it cannot be started.
  void start(
      const std::string& name, const std::vector<std::string>& argv,
      const std::string& log,
      const std::vector<std::pair<std::string, std::string>>& changes = {});

  /// Of those that run, in the order they were started.
  std::vector<std::string> names() const;
  size_t size() const { return children_.size(); }

  /// One that has ended, if there is one.
  std::optional<ProcessEnd> poll();

  /// Asks all to end, waits for them, and kills those that do not.
  void stop();

 private:
  struct Child {
    std::string name;
    pid_t id = 0;
    Timer timer;
  };

  std::vector<Child> children_;
};

/// The last lines of a child's log; none if there is no such file.
std::vector<std::string> last_lines(const std::string& path);

/// While it lives, SIGINT and SIGTERM are noted instead of ending the program.
class InterruptNote {
 public:
  InterruptNote();
  ~InterruptNote();
  InterruptNote(const InterruptNote&) = delete;
  InterruptNote& operator=(const InterruptNote&) = delete;

  static bool interrupted();
};

}  // namespace kith
