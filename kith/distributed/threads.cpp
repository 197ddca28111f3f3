// Ranks that are threads of one process: each lends the others its tensor and
// they copy from it.
#include <condition_variable>
#include <mutex>

#include <ATen/ATen.h>

#include "kith/distributed/communicator.h"
#include "kith/distributed/detail/seconds_text.h"

namespace kith {
namespace {

/// What the ranks have in common.
class MeetingRoom {
 public:
  explicit MeetingRoom(size_t size)
      : lent_(size), bytes_(size), rounds_(size, 0), has_left_(size, false) {}

  /// Lends a tensor, whose parts for the ranks have `bytes`, and returns when
  /// all have lent theirs.
  void lend(size_t rank, const Tensor& tensor,
            const std::vector<int64_t>& bytes,
            std::chrono::milliseconds timeout) {
    {
      const std::lock_guard lock(mutex_);
      lent_[rank] = tensor;
      bytes_[rank] = bytes;
    }
    meet(rank, timeout);
  }

  /// After lend(): what a rank has lent.
  Tensor lent_by(size_t rank) {
    const std::lock_guard lock(mutex_);
    return lent_[rank];
  }
  std::vector<int64_t> bytes_of_rank(size_t rank) {
    const std::lock_guard lock(mutex_);
    return bytes_[rank];
  }

  /// Returns when all ranks are here.
  void meet(size_t rank, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    const int64_t round = ++rounds_[rank];
    changed_.notify_all();
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    for (;;) {
      const std::vector<size_t> late = behind(round);
      if (late.empty()) return;
      for (const size_t r : late) {
        if (has_left_[r]) fail(late, "a rank has left");
      }
      if (is_broken_) fail(late, "another rank has given up");
      if (changed_.wait_until(lock, deadline) == std::cv_status::timeout &&
          !behind(round).empty()) {
        fail(behind(round), "waited " + seconds_text(timeout));
      }
    }
  }

  /// After all have copied: meets, and keeps nothing of this rank's.
  void take_back(size_t rank, std::chrono::milliseconds timeout) {
    meet(rank, timeout);
    const std::lock_guard lock(mutex_);
    lent_[rank] = Tensor();
  }

  void leave(size_t rank) {
    const std::lock_guard lock(mutex_);
    has_left_[rank] = true;
    changed_.notify_all();
  }

  std::string missing() {
    const std::lock_guard lock(mutex_);
    return missing_;
  }

 private:
  std::vector<size_t> behind(int64_t round) const {
    std::vector<size_t> ranks;
    for (size_t r = 0; r < rounds_.size(); ++r) {
      if (rounds_[r] < round) ranks.push_back(r);
    }
    return ranks;
  }

  /// Those that have left, for others may only be on their way; if none has,
  /// all.
  std::string names_of(const std::vector<size_t>& late) const {
    std::string left;
    std::string silent;
    for (const size_t r : late) {
      std::string& text = has_left_[r] ? left : silent;
      text += (text.empty() ? "rank " : "; rank ") + std::to_string(r) +
              (has_left_[r] ? " has left" : " does not answer");
    }
    return left.empty() ? silent : left;
  }

  [[noreturn]] void fail(const std::vector<size_t>& late,
                         const std::string& why) {
    if (!is_broken_) missing_ = names_of(late);
    is_broken_ = true;
    changed_.notify_all();
    throw RunError(why);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Tensor> lent_;
  std::vector<std::vector<int64_t>> bytes_;
  std::vector<int64_t> rounds_;  ///< At which meeting each rank is.
  std::vector<bool> has_left_;
  bool is_broken_ = false;
  std::string missing_;
};

class ThreadRank final : public Communicator {
 public:
  ThreadRank(int64_t rank, int64_t size, std::shared_ptr<MeetingRoom> room,
             std::chrono::milliseconds timeout)
      : Communicator(rank, size), room_(std::move(room)), timeout_(timeout) {}
  ~ThreadRank() override { room_->leave(index()); }

  std::string engine() const override { return "threads"; }

 private:
  size_t index() const { return static_cast<size_t>(rank()); }

  void gather_equal(const Tensor& mine, Tensor& all) override {
    room_->lend(index(), mine, {}, timeout_);
    for (int64_t r = 0; r < size(); ++r) {
      const Tensor to = all[r];
      const Tensor from = room_->lent_by(static_cast<size_t>(r));
      // What is there already must not be written while others read it.
      if (to.data_ptr() != from.data_ptr()) to.copy_(from);
    }
    room_->take_back(index(), timeout_);
  }

  void exchange_blocks(Blocks& blocks) override {
    room_->lend(index(), blocks.send, blocks.send_bytes, timeout_);
    int64_t to = 0;
    for (size_t r = 0; r < static_cast<size_t>(size()); ++r) {
      const std::vector<int64_t> bytes = room_->bytes_of_rank(r);
      int64_t from = 0;
      for (size_t before = 0; before < index(); ++before) from += bytes[before];
      const int64_t count = blocks.receive_bytes[r];
      KITH_ASSERT(bytes[index()] == count);
      blocks.receive.narrow(0, to, count)
          .copy_(room_->lent_by(r).narrow(0, from, count));
      to += count;
    }
    room_->take_back(index(), timeout_);
  }

  void broadcast_from(Tensor& tensor, int64_t root) override {
    room_->lend(index(), tensor, {}, timeout_);
    if (rank() != root) {
      tensor.copy_(room_->lent_by(static_cast<size_t>(root)));
    }
    room_->take_back(index(), timeout_);
  }

  c10::Device device() const override { return c10::Device(c10::kCPU); }
  void set_timeout(std::chrono::milliseconds timeout) override {
    timeout_ = timeout;
  }
  std::string who_is_missing() override { return room_->missing(); }

  std::shared_ptr<MeetingRoom> room_;
  std::chrono::milliseconds timeout_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> thread_ranks(
    int64_t size, std::chrono::milliseconds timeout) {
  const auto room = std::make_shared<MeetingRoom>(static_cast<size_t>(size));
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int64_t r = 0; r < size; ++r) {
    ranks.push_back(std::make_unique<ThreadRank>(r, size, room, timeout));
  }
  return ranks;
}

}  // namespace kith
