#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/tensor.h"

namespace kith {

/// Another rank could not go on, or cannot be reached. The message names this
/// rank, the function it was in and, where that is known, the other one.
class RankError : public RunError {
 public:
  using RunError::RunError;
};

/// Another rank failed and said so (Communicator::tell_failure), with its
/// reason.
class RankFailed : public RankError {
 public:
  using RankError::RankError;
};

/// Another rank ran out of memory and said so (Communicator::tell_no_memory).
class RankOutOfMemory : public RankError {
 public:
  using RankError::RankError;
};

struct CallHeader;

/// Processes (ranks) that compute together. Every rank calls the same functions
/// in the same order. Before anything is sent, each call compares what all
/// ranks are about to do, so that ranks that do different things get a
/// RankError instead of wrong numbers, and a rank that fails or dies ends the
/// wait of the others.
///
/// What a call throws says who knows: after a RankError (RankOutOfMemory among
/// them) all ranks know, after anything else, such as LibTorch's error of no
/// memory, only this one does, and has to tell the others.
///
/// Tensors may be on any device; an engine that cannot send from there sends
/// from where it can. Nothing here records gradients.
///
/// One rank alone costs nothing: every function returns what it was given. One
/// rank of an engine sends to itself, on the same way as several.
class Communicator {
 public:
  virtual ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int64_t rank() const { return rank_; }
  int64_t size() const { return size_; }
  bool is_first() const { return rank_ == 0; }

  /// One rank without an engine: nothing has to be sent or divided.
  virtual bool is_alone() const { return false; }

  /// How many of them share this machine's memory; all, unless said otherwise.
  int64_t ranks_here() const { return ranks_here_; }
  void set_ranks_here(int64_t ranks) { ranks_here_ = ranks; }

  /// What sends: "gloo", "nccl", "mpi", "threads"; "none" of one rank.
  virtual std::string engine() const = 0;

  /// The rows of all ranks, rank 0 first: [n_0, ...] and [n_1, ...] give
  /// [n_0 + n_1, ...]. Ranks may have different numbers of rows, also none.
  ///
  /// `into`, if given, gets them and is returned. kith copies nothing on the
  /// way if it is contiguous, where the engine sends from, and all ranks have
  /// as many rows; then `mine` may lie at its own place in it.
  Tensor all_gather(const Tensor& mine, const Tensor& into = {});

  /// Sends counts[r] rows of `rows` to rank r: the first to rank 0 and so on.
  /// Returns the rows that were sent to this rank, those of rank 0 first; in
  /// `into`, if given, which must not be where `rows` is.
  Tensor exchange(const Tensor& rows, const std::vector<int64_t>& counts,
                  const Tensor& into = {});

  /// The sum of all ranks' tensors, the same to the bit on every rank: added up
  /// in the order of a fixed tree (see LaneSum), whatever the engine.
  Tensor all_reduce(const Tensor& mine);

  /// The tensor of `root` is copied into those of all others. Same shape and
  /// type everywhere.
  void broadcast(Tensor& tensor, int64_t root = 0);

  /// The same of a text.
  std::string broadcast(const std::string& text, int64_t root = 0);

  /// Returns when all ranks are here.
  void barrier();

  /// Takes the place of the call that the other ranks are in, or come to next:
  /// it throws RankOutOfMemory there. This rank goes on.
  void tell_no_memory();

  /// The same if this rank fails: the others throw a RankError with `reason`.
  /// Never throws. It waits for the others for seconds, not for the time-out.
  void tell_failure(const std::string& reason) noexcept;

  /// Whether this rank knows that not all can be reached any more: every call
  /// throws from then on.
  bool is_lost() const { return !lost_.empty(); }

  /// Bytes that this rank has sent to others, without headers.
  int64_t bytes_sent() const { return bytes_sent_; }

 protected:
  Communicator(int64_t rank, int64_t size);

  /// Bytes to and from each rank, those of rank 0 first. Their numbers may
  /// differ, also between ranks.
  struct Blocks {
    Tensor send;
    std::vector<int64_t> send_bytes;
    Tensor receive;
    std::vector<int64_t> receive_bytes;
  };

  // What an engine can do. It moves bytes: tensors are uint8, contiguous, of
  // one dimension and on device(). An engine's own exception may be anything;
  // it becomes a RankError.

  /// all[r] = mine of rank r; as many bytes everywhere. all: [size, bytes]
  /// `mine` may be all[rank()].
  virtual void gather_equal(const Tensor& mine, Tensor& all) = 0;
  virtual void exchange_blocks(Blocks& blocks) = 0;
  virtual void broadcast_from(Tensor& tensor, int64_t root) = 0;
  /// Where tensors must be to be sent.
  virtual c10::Device device() const = 0;
  /// The time-out of all calls that follow.
  virtual void set_timeout(std::chrono::milliseconds timeout) = 0;
  /// More words for an error of the engine: which rank is missing, and why.
  virtual std::string who_is_missing() { return ""; }
  /// Why this rank fails, for who_is_missing() of those that do not hear it
  /// through a call.
  virtual void leave_word(const std::string& reason) {
    static_cast<void>(reason);
  }

 private:
  friend class LaneSum;

  std::vector<CallHeader> agree(CallHeader mine, const std::string& why = "");
  std::vector<CallHeader> gather_headers(const CallHeader& mine);
  void heed_failure(const std::vector<CallHeader>& headers,
                    const std::string& why);
  void run(const CallHeader& call, const std::function<void()>& work);
  std::string me() const;
  Tensor staged(const Tensor& tensor) const;
  bool can_receive(const Tensor& into, const Tensor& like, int64_t rows) const;
  Tensor allocate_together(const CallHeader& call, const Tensor& like,
                           int64_t rows, int64_t most_bytes,
                           const Tensor& into = {});
  Tensor gather_padded(const CallHeader& call, const Tensor& mine,
                       const std::vector<int64_t>& counts, const Tensor& into);
  Tensor gather_one_by_one(const CallHeader& call, const Tensor& mine,
                           const std::vector<int64_t>& counts);
  /// Throws unless all ranks are about to add up tensors like this one.
  void agree_on_sum(const Tensor& mine);

  int64_t rank_;
  int64_t size_;
  int64_t ranks_here_ = size_;
  int64_t calls_ = 0;
  int64_t bytes_sent_ = 0;
  std::string lost_;  ///< Why no call can work any more; empty: all is well.
};

/// One rank in one process.
Communicator& alone();

/// `size` ranks that are threads of this process, for tests: element r is given
/// to the thread that acts as rank r.
std::vector<std::unique_ptr<Communicator>> thread_ranks(
    int64_t size, std::chrono::milliseconds timeout = std::chrono::minutes(1));

}  // namespace kith
