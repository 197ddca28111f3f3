// kith_faults: runs a program and makes its n-th call about a file fail.
//
// Calls of the kernel are counted, not those of the C library, which buffers:
// the program is traced, and stops at the calls that are watched. Counted are
// calls about files under one folder, of all processes and threads that the
// program starts, so libraries that are loaded do not count.

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/faults/tracee.h"

namespace kith {
namespace {

constexpr const char* kUsage =
    "usage: kith_faults FOLDER FAULT CALLS N REPORT PROGRAM [ARGUMENT]...\n"
    "Runs PROGRAM and lets FAULT strike its N-th call (from 1; 0: none) of "
    "CALLS\n"
    "that is about a file below FOLDER.\n"
    "FAULT  enospc, eio, eintr, enomem: the call fails; short: it does only "
    "half\n"
    "       of what it is asked to; kill: the process is killed before it\n"
    "CALLS  names with commas of open, read, write, truncate, fsync, close, "
    "mmap,\n"
    "       list, mkdir, unlink, link, rename; or all, or changes: those that "
    "write\n"
    "REPORT a file with a line for each call that counts, and 'struck' before "
    "the\n"
    "       one that failed\n"
    "The exit code is the program's, 128 and the signal's number if one ended "
    "it,\n"
    "or 77 if the system lets nobody trace a program.\n";

enum class Fault { kNone, kError, kShort, kKill };

struct Plan {
  std::string folder;
  Fault fault = Fault::kNone;
  int error = 0;
  std::set<std::string> calls;
  long at = 0;
};

bool is_below(const std::string& path, const std::string& folder) {
  return path.starts_with(folder + "/");
}

/// The program and all that it starts, until the last of them has ended.
class Traced {
 public:
  Traced(const Plan& plan, std::ostream& report, pid_t first)
      : plan_(plan), report_(report), first_(first) {}

  int run() {
    int result = 1;
    int status = 0;
    for (pid_t id = 0; (id = ::waitpid(-1, &status, __WALL)) > 0;) {
      if (WIFSTOPPED(status)) {
        go_on(id, status);
      } else if (id == first_) {
        result =
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
    }
    return result;
  }

 private:
  void go_on(pid_t id, int status) {
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    if (event == PTRACE_EVENT_SECCOMP) {
      ::ptrace(before_call(id) ? PTRACE_SYSCALL : PTRACE_CONT, id, nullptr, 0);
    } else if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
      ::ptrace(PTRACE_LISTEN, id, nullptr, 0);
    } else if (event != 0) {
      ::ptrace(PTRACE_CONT, id, nullptr, 0);
    } else if (signal == (SIGTRAP | 0x80)) {
      // The end of a call that is done but says that it failed.
      Tracee(id).set_result(plan_.error);
      ::ptrace(PTRACE_CONT, id, nullptr, 0);
    } else {
      ::ptrace(PTRACE_CONT, id, nullptr, signal);
    }
  }

  /// Whether the thread must stop after the call too.
  bool before_call(pid_t id) {
    Tracee tracee(id);
    Call call = tracee.call();
    if (!counts(call)) return false;
    const bool strikes = ++count_ == plan_.at;
    report_ << (strikes ? "struck " : "") << call.name << ' ' << call.path
            << std::endl;
    if (!strikes) return false;
    if (plan_.fault == Fault::kKill) ::kill(id, SIGKILL);
    if (plan_.fault == Fault::kShort) {
      *call.size = (*call.size + 1) / 2;
      tracee.store();
    }
    if (plan_.fault != Fault::kError) return false;
    // The kernel closes a file whatever it says about it.
    if (call.name == "close") return true;
    tracee.fail(plan_.error);
    return false;
  }

  bool counts(const Call& call) const {
    if (!is_below(call.path, plan_.folder) &&
        !is_below(call.other, plan_.folder)) {
      return false;
    }
    if (plan_.fault == Fault::kShort &&
        (call.size == nullptr || *call.size < 2)) {
      return false;
    }
    return plan_.calls.contains("all") || plan_.calls.contains(call.name) ||
           (plan_.calls.contains("changes") && call.changes);
  }

  const Plan& plan_;
  std::ostream& report_;
  pid_t first_;
  long count_ = 0;
};

Plan plan_of(char** arguments) {
  static const std::map<std::string, std::pair<Fault, int>> faults = {
      {"enospc", {Fault::kError, ENOSPC}}, {"eio", {Fault::kError, EIO}},
      {"eintr", {Fault::kError, EINTR}},   {"enomem", {Fault::kError, ENOMEM}},
      {"short", {Fault::kShort, 0}},       {"kill", {Fault::kKill, 0}}};
  Plan plan;
  char folder[4096];
  if (::realpath(arguments[0], folder) != nullptr) plan.folder = folder;
  const auto found = faults.find(arguments[1]);
  if (found != faults.end()) {
    plan.fault = found->second.first;
    plan.error = found->second.second;
  }
  std::istringstream calls(arguments[2]);
  for (std::string name; std::getline(calls, name, ',');) {
    plan.calls.insert(name);
  }
  plan.at = std::atol(arguments[3]);
  return plan;
}

constexpr int kNotAllowed = 77;

int run(int count, char** arguments) {
  if (count < 7) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const Plan plan = plan_of(arguments + 1);
  if (plan.folder.empty() || plan.fault == Fault::kNone) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  std::ofstream report(arguments[5]);
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGSTOP);
    if (!stop_at_watched_calls()) ::_exit(kNotAllowed);
    ::execvp(arguments[6], arguments + 6);
    std::perror(arguments[6]);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  constexpr int kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE |
                           PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK |
                           PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD |
                           PTRACE_O_TRACEVFORK;
  if (::ptrace(PTRACE_SEIZE, child, nullptr, kOptions) != 0) {
    std::perror("kith_faults: cannot trace a program");
    ::kill(child, SIGKILL);
    return kNotAllowed;
  }
  ::kill(child, SIGCONT);
  return Traced(plan, report, child).run();
}

}  // namespace
}  // namespace kith

int main(int argc, char** argv) { return kith::run(argc, argv); }
