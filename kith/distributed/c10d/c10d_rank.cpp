#include "kith/distributed/c10d/c10d_rank.h"

#include <algorithm>
#include <exception>
#include <thread>

#include <ATen/ATen.h>

#include "kith/distributed/detail/seconds_text.h"

namespace kith {

C10dRank::C10dRank(const RankPlace& place, const std::string& engine,
                   const JoinOptions& options)
    : Communicator(place.rank, place.size),
      store_(place, engine, options.connect_timeout),
      exceptions_(std::uncaught_exceptions()),
      timeout_(options.timeout) {}

void C10dRank::leave() {
  // Whoever closes its connections first could break off the last call of
  // another. An exception on its way here is not known to the others.
  const bool is_orderly =
      !is_lost() && std::uncaught_exceptions() == exceptions_;
  if (is_orderly && !has_left_) store_.leave();
  has_left_ = true;
}

C10dRank::~C10dRank() {
  leave();
  if (!is_lost()) return;
  // A group waits for the work it has begun, here for ranks that are gone. The
  // process ends soon.
  static_cast<void>(group_.release());
  // The others look into the store to say who is missing.
  if (store_.is_host()) std::this_thread::sleep_for(std::chrono::seconds(2));
}

std::chrono::milliseconds C10dRank::engine_timeout() const {
  return timeout_ + std::chrono::seconds(10);
}

void C10dRank::finish(C10dWork& work) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLook{1'000};
  const Clock::time_point end = Clock::now() + timeout_;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    const auto time = std::clamp(left, std::chrono::milliseconds(1), kLook);
    if (is_done(work, time)) return;
    if (Clock::now() >= end) {
      throw RunError("waited " + seconds_text(timeout_));
    }
    store_.look_for_trouble();
  }
}

void C10dRank::gather_equal(const Tensor& mine, Tensor& all) {
  std::vector<std::vector<Tensor>> out(1);
  for (int64_t r = 0; r < size(); ++r) out[0].push_back(all[r]);
  std::vector<Tensor> in = {mine};
  c10d::AllgatherOptions options;
  options.timeout = engine_timeout();
  finish(*group_->allgather(out, in, options));
}

void C10dRank::exchange_blocks(Blocks& blocks) {
  c10d::AllToAllOptions options;
  options.timeout = engine_timeout();
  finish(*group_->alltoall_base(blocks.receive, blocks.send,
                                blocks.receive_bytes, blocks.send_bytes,
                                options));
}

void C10dRank::broadcast_from(Tensor& tensor, int64_t root) {
  std::vector<Tensor> tensors = {tensor};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  options.timeout = engine_timeout();
  finish(*group_->broadcast(tensors, options));
}

void C10dRank::set_timeout(std::chrono::milliseconds timeout) {
  timeout_ = timeout;
}

std::string C10dRank::who_is_missing() { return store_.missing(); }

void C10dRank::leave_word(const std::string& reason) {
  store_.leave_word(reason);
}

}  // namespace kith
