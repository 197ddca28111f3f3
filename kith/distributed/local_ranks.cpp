#include "kith/distributed/local_ranks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <torch/torch.h>
#include <unistd.h>

#include "kith/core/error.h"
#include "kith/core/with_parent.h"
#include "kith/distributed/detail/store_variable.h"
#include "kith/distributed/join.h"
#include "kith/distributed/mpirun.h"
#include "kith/distributed/rank_threads.h"

namespace kith {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP};
std::array<std::atomic<int>, kPassedOn.size()> signals_seen = {};

void note_signal(int signal) {
  for (size_t i = 0; i < kPassedOn.size(); ++i) {
    if (kPassedOn[i] == signal) ++signals_seen[i];
  }
}

/// While it lives, signals are noted. One that is ignored stays so.
class NotedSignals {
 public:
  NotedSignals() {
    for (size_t i = 0; i < kPassedOn.size(); ++i) {
      signals_seen[i] = 0;
      ::sigaction(kPassedOn[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) continue;
      struct sigaction action = {};
      action.sa_handler = note_signal;
      ::sigaction(kPassedOn[i], &action, nullptr);
    }
  }
  ~NotedSignals() {
    for (size_t i = 0; i < kPassedOn.size(); ++i) {
      ::sigaction(kPassedOn[i], &before_[i], nullptr);
    }
  }
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;

 private:
  std::array<struct sigaction, kPassedOn.size()> before_ = {};
};

/// The file that is the ranks' store. It has no name, so nothing is left of it
/// however the processes end; they inherit it.
class StoreFile {
 public:
  StoreFile() : id_(::memfd_create("kith-ranks", 0)) {
    if (id_ < 0) {
      throw RunError(std::string("no file for ranks to find each other: ") +
                     std::strerror(errno));
    }
  }
  ~StoreFile() { ::close(id_); }
  StoreFile(const StoreFile&) = delete;
  StoreFile& operator=(const StoreFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(id_); }

 private:
  int id_;
};

/// The ranks' processes.
class LocalRanks {
 public:
  explicit LocalRanks(int64_t ranks) : ids_(static_cast<size_t>(ranks), 0) {}
  ~LocalRanks() {
    send(SIGKILL);
    for (const pid_t id : ids_) {
      if (id > 0) ::waitpid(id, nullptr, 0);
    }
  }
  LocalRanks(const LocalRanks&) = delete;
  LocalRanks& operator=(const LocalRanks&) = delete;

  void start(const std::vector<std::string>& argv) {
    for (size_t r = 0; r < ids_.size(); ++r) start_one(r, argv);
  }

  RanksEnd wait() {
    while (running() > 0) {
      pass_on_signals();
      poll();
      stop_if_due();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (end_.status == 0 && has_follower_) end_.status = 1;
    if (end_.status == 0) end_.status = status_by_signal_;
    return end_;
  }

 private:
  void start_one(size_t rank, const std::vector<std::string>& argv);
  void pass_on_signals();
  void poll();
  void note_end(size_t rank, int status);
  void stop_if_due();

  std::ptrdiff_t running() const {
    return std::count_if(ids_.begin(), ids_.end(),
                         [](pid_t id) { return id > 0; });
  }
  void send(int signal) const {
    for (const pid_t id : ids_) {
      if (id > 0) ::kill(id, signal);
    }
  }

  StoreFile store_;
  std::vector<pid_t> ids_;  ///< 0: has ended.
  RanksEnd end_;
  bool has_failure_ = false;  ///< Of a rank, not of one that follows it.
  bool has_follower_ = false;
  Clock::time_point failed_at_;
  bool was_asked_ = false;  ///< The others to stop.
  int signal_ = 0;          ///< Passed on last.
  int status_by_signal_ = 0;
};

void LocalRanks::start_one(size_t rank, const std::vector<std::string>& argv) {
  RankPlace place;
  place.local_size = static_cast<int64_t>(ids_.size());
  const std::string size = std::to_string(place.local_size);
  std::vector<std::string> environment = child_environment(
      {{"RANK", std::to_string(rank)},
       {"WORLD_SIZE", size},
       {"LOCAL_RANK", std::to_string(rank)},
       {"LOCAL_WORLD_SIZE", size},
       {kStoreVariable, store_.path()},
       {"OMP_NUM_THREADS", std::to_string(threads_of_rank(place))}});
  std::vector<std::string> words = argv;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (rank > 0 || ::isatty(STDIN_FILENO) == 1) {
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
                                       O_RDONLY, 0);
  }
  // Of its own group: Ctrl-C reaches this process alone, which passes it on, so
  // that ranks get it once.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  const int error =
      ::posix_spawn(&ids_[rank], argv.at(0).c_str(), &actions, &attributes,
                    pointers_to(words).data(), pointers_to(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    ids_[rank] = 0;
    throw RunError("cannot start " + argv[0] + " as rank " +
                   std::to_string(rank) + ": " + std::strerror(error));
  }
}

void LocalRanks::pass_on_signals() {
  for (size_t i = 0; i < kPassedOn.size(); ++i) {
    for (; signals_seen[i] > 0; --signals_seen[i]) {
      signal_ = kPassedOn[i];
      send(signal_);
    }
  }
}

void LocalRanks::poll() {
  for (size_t r = 0; r < ids_.size(); ++r) {
    int status = 0;
    if (ids_[r] > 0 && ::waitpid(ids_[r], &status, WNOHANG) == ids_[r]) {
      ids_[r] = 0;
      note_end(r, status);
    }
  }
}

void LocalRanks::note_end(size_t rank, int status) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const int code = signal > 0 ? 128 + signal : WEXITSTATUS(status);
  if (code == 0 || was_asked_) return;
  // As it was asked to; the others may still have something to write.
  if (signal_ > 0 && code == 128 + signal_) {
    status_by_signal_ = code;
    return;
  }
  if (!has_failure_ && !has_follower_) failed_at_ = Clock::now();
  if (code == kFollowerStatus && signal == 0) {
    has_follower_ = true;
    return;
  }
  if (has_failure_) return;
  has_failure_ = true;
  end_.status = code;
  if (signal > 0) {
    end_.message = "rank " + std::to_string(rank) + " was killed by signal " +
                   std::to_string(signal) + ": the others were stopped";
  }
}

void LocalRanks::stop_if_due() {
  if (!has_failure_ && !has_follower_) return;
  // Most end by themselves, and say what happened.
  const auto since = Clock::now() - failed_at_;
  if (since > std::chrono::milliseconds(1'950)) {
    send(SIGKILL);
  } else if (since > std::chrono::milliseconds(1'500) && !was_asked_) {
    was_asked_ = true;
    send(SIGTERM);
  }
}

/// Whether only mpirun starts ranks that can send to each other here: NCCL
/// wants a GPU for each.
bool needs_mpirun(int64_t ranks) {
  const std::vector<std::string> built = built_engines();
  const auto has = [&](const char* name) {
    return std::find(built.begin(), built.end(), name) != built.end();
  };
  if (has("gloo") || !has("mpi")) return false;
  return !has("nccl") ||
         static_cast<int64_t>(torch::cuda::device_count()) < ranks;
}

}  // namespace

RanksEnd run_ranks(int64_t ranks, const std::vector<std::string>& argv,
                   const std::string& engine) {
  check_engine(engine);
  if (engine == "mpi" || (engine == "auto" && needs_mpirun(ranks))) {
    become_mpirun(ranks, argv);
  }
  const NotedSignals signals;
  LocalRanks processes(ranks);
  processes.start(argv);
  return processes.wait();
}

std::string program_file() {
  std::array<char, 4096> path = {};
  const ssize_t length =
      ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) throw RunError("/proc does not name the program's file");
  return {path.data(), static_cast<size_t>(length)};
}

}  // namespace kith
