// Ranks that send by MPI. Every wait is a poll with a time-out: a rank that is
// gone must not hold the others for ever.
#include <algorithm>
#include <exception>
#include <set>
#include <thread>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <ATen/ATen.h>
#include <mpi.h>

#include "kith/distributed/call_header.h"
#include "kith/distributed/detail/seconds_text.h"
#include "kith/distributed/engines.h"

namespace kith {
namespace {

constexpr int kTag = 17;
/// MPI counts in int.
constexpr int64_t kMostBytes = 1 << 30;

void check(int result) {
  if (result == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  throw RunError("MPI: " + text.substr(0, static_cast<size_t>(length)));
}

/// Messages on their way.
class Messages {
 public:
  void send(const Tensor& bytes, int64_t to) {
    begin(bytes, to, -1,
          [](void* data, int count, int rank, MPI_Request* request) {
            return MPI_Isend(data, count, MPI_BYTE, rank, kTag, MPI_COMM_WORLD,
                             request);
          });
  }

  void receive(const Tensor& bytes, int64_t from) {
    begin(bytes, from, from,
          [](void* data, int count, int rank, MPI_Request* request) {
            return MPI_Irecv(data, count, MPI_BYTE, rank, kTag, MPI_COMM_WORLD,
                             request);
          });
  }

  /// The same of a broadcast from a rank.
  void broadcast(const Tensor& bytes, int64_t root) {
    begin(bytes, root, root,
          [](void* data, int count, int rank, MPI_Request* request) {
            return MPI_Ibcast(data, count, MPI_BYTE, rank, MPI_COMM_WORLD,
                              request);
          });
  }

  void finish(std::chrono::milliseconds timeout) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    std::chrono::microseconds nap{0};
    for (;;) {
      int done = 0;
      check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(),
                        &done, MPI_STATUSES_IGNORE));
      if (done != 0) return;
      if (Clock::now() - start > timeout) break;
      // Others want the core: look less and less often.
      nap = std::min(nap + std::chrono::microseconds(1),
                     std::chrono::microseconds(500));
      std::this_thread::sleep_for(nap);
    }
    find_silent();
    // MPI may still write there.
    static std::vector<Tensor> kept;
    kept.insert(kept.end(), tensors_.begin(), tensors_.end());
    throw RunError("waited " + seconds_text(timeout));
  }

  /// After a time-out: from whom nothing came.
  const std::set<int64_t>& silent() const { return silent_; }

 private:
  template <class Start>
  void begin(const Tensor& bytes, int64_t rank, int64_t awaited,
             const Start& start) {
    tensors_.push_back(bytes);
    auto* data = bytes.data_ptr<uint8_t>();
    for (int64_t at = 0; at < bytes.numel(); at += kMostBytes) {
      const int64_t count = std::min(kMostBytes, bytes.numel() - at);
      requests_.push_back(MPI_REQUEST_NULL);
      awaited_.push_back(awaited);
      check(start(data + at, static_cast<int>(count), static_cast<int>(rank),
                  &requests_.back()));
    }
  }

  void find_silent() {
    for (size_t i = 0; i < requests_.size(); ++i) {
      int done = 0;
      MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
      if (done == 0 && awaited_[i] >= 0) silent_.insert(awaited_[i]);
    }
  }

  std::vector<Tensor> tensors_;
  std::vector<MPI_Request> requests_;
  std::vector<int64_t> awaited_;  ///< Whom each waits for; -1: whomever.
  std::set<int64_t> silent_;
};

class MpiRank final : public Communicator {
 public:
  MpiRank(const RankPlace& place, std::chrono::milliseconds timeout)
      : Communicator(place.rank, place.size),
        timeout_(timeout),
        exceptions_(std::uncaught_exceptions()) {}

  ~MpiRank() override {
    // All ranks meet there. After an error they do not: mpirun, which sees a
    // process end without it, ends the others.
    const bool is_orderly =
        !is_lost() && std::uncaught_exceptions() == exceptions_;
    if (is_orderly) MPI_Finalize();
  }

  std::string engine() const override { return "mpi"; }

 private:
  c10::Device device() const override { return c10::Device(c10::kCPU); }
  void set_timeout(std::chrono::milliseconds timeout) override {
    timeout_ = timeout;
  }

  void gather_equal(const Tensor& mine, Tensor& all) override {
    Messages messages;
    for (const int64_t r : others()) messages.receive(all[r], r);
    for (const int64_t r : others()) messages.send(mine, r);
    const Tensor own = all[rank()];
    // What is there already must not be written while it is sent.
    if (own.data_ptr() != mine.data_ptr()) own.copy_(mine);
    finish(messages);
  }

  void exchange_blocks(Blocks& blocks) override {
    Messages messages;
    const std::vector<Tensor> from =
        blocks.receive.split_with_sizes(blocks.receive_bytes);
    const std::vector<Tensor> to =
        blocks.send.split_with_sizes(blocks.send_bytes);
    for (const int64_t r : others()) {
      messages.receive(from[static_cast<size_t>(r)], r);
    }
    for (const int64_t r : others()) {
      messages.send(to[static_cast<size_t>(r)], r);
    }
    const auto me = static_cast<size_t>(rank());
    from[me].copy_(to[me]);
    finish(messages);
  }

  void broadcast_from(Tensor& tensor, int64_t root) override {
    Messages messages;
    messages.broadcast(tensor, root);
    finish(messages);
  }

  void finish(Messages& messages) {
    try {
      messages.finish(timeout_);
    } catch (...) {
      silent_ = messages.silent();
      throw;
    }
  }

  std::string who_is_missing() override {
    std::string text;
    for (const int64_t r : silent_) {
      text += (text.empty() ? "" : "; ") + rank_name(static_cast<size_t>(r)) +
              " does not answer";
    }
    return text;
  }

  /// From the next one on, so that not all send to the same.
  std::vector<int64_t> others() const {
    std::vector<int64_t> ranks;
    for (int64_t i = 1; i < size(); ++i) ranks.push_back((rank() + i) % size());
    return ranks;
  }

  std::chrono::milliseconds timeout_;
  std::set<int64_t> silent_;
  int exceptions_;
};

}  // namespace

bool has_mpi() { return true; }

std::unique_ptr<Communicator> join_mpi(const RankPlace& place,
                                       const JoinOptions& options) {
  int is_begun = 0;
  check(MPI_Initialized(&is_begun));
  if (is_begun == 0) {
    int level = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level));
    // Else an error ends the process before it can say which.
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  }
  int rank = 0;
  int size = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  check(MPI_Comm_size(MPI_COMM_WORLD, &size));
  if (rank != place.rank || size != place.size) {
    throw ConfigError("MPI has rank " + std::to_string(rank) + " of " +
                      std::to_string(size) + ", the environment rank " +
                      std::to_string(place.rank) + " of " +
                      std::to_string(place.size) +
                      ": the engine mpi needs ranks that mpirun started");
  }
  return std::make_unique<MpiRank>(place, options.timeout);
}

}  // namespace kith
