#include "kith/study/processes.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kith/core/error.h"

namespace kith {
namespace {

constexpr double kStopSeconds = 5;

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

volatile std::sig_atomic_t interrupt_seen = 0;

void note_interrupt(int) { interrupt_seen = 1; }

void set_handler(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

/// Where a child reads and writes.
class FileActions {
 public:
  explicit FileActions(const std::string& log) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null",
                                       O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
  }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_ = {};
};

}  // namespace

std::vector<std::string> last_lines(const std::string& path) {
  constexpr size_t kShownLines = 8;
  constexpr std::streamoff kShownBytes = 4096;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kShownBytes));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (lines.size() > kShownLines) {
    lines.erase(lines.begin(),
                lines.end() - static_cast<std::ptrdiff_t>(kShownLines));
  }
  return lines;
}

std::string ProcessEnd::text() const {
  if (signal == 0) return "exit status " + std::to_string(exit_code);
  return "ended by signal " + std::to_string(signal) +
         (signal == SIGKILL ? ", as when memory runs out" : "");
}

ProcessPool::~ProcessPool() { stop(); }

void ProcessPool::start(
    const std::string& name, const std::vector<std::string>& argv,
    const std::string& log,
    const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> words = argv;
  std::vector<std::string> environment = child_environment(changes);
  const FileActions actions(log);
  Child child;
  child.name = name;
  const int error =
      ::posix_spawn(&child.id, argv.at(0).c_str(), actions.get(), nullptr,
                    pointers_to(words).data(), pointers_to(environment).data());
  if (error != 0) {
    throw RunError(name + ": cannot start " + argv[0] + " with the log " + log +
                   ": " + std::strerror(error));
  }
  children_.push_back(std::move(child));
}

std::vector<std::string> ProcessPool::names() const {
  std::vector<std::string> names;
  for (const Child& child : children_) names.push_back(child.name);
  return names;
}

std::optional<ProcessEnd> ProcessPool::poll() {
  for (size_t i = 0; i < children_.size(); ++i) {
    int status = 0;
    if (::waitpid(children_[i].id, &status, WNOHANG) == 0) continue;
    ProcessEnd end;
    end.name = children_[i].name;
    end.seconds = children_[i].timer.seconds();
    if (WIFSIGNALED(status)) {
      end.signal = WTERMSIG(status);
    } else {
      end.exit_code = WEXITSTATUS(status);
    }
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
    return end;
  }
  return {};
}

void ProcessPool::stop() {
  for (const Child& child : children_) ::kill(child.id, SIGTERM);
  const Timer timer;
  while (!children_.empty()) {
    if (!poll()) nap();
    if (timer.seconds() < kStopSeconds) continue;
    for (const Child& child : children_) ::kill(child.id, SIGKILL);
  }
}

InterruptNote::InterruptNote() {
  interrupt_seen = 0;
  set_handler(note_interrupt);
}

InterruptNote::~InterruptNote() { set_handler(SIG_DFL); }

bool InterruptNote::interrupted() { return interrupt_seen != 0; }

}  // namespace kith
