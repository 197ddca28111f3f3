#pragma once

#include "kith/distributed/c10d/group.h"
#include "kith/distributed/c10d/rank_store.h"
#include "kith/distributed/communicator.h"
#include "kith/distributed/join.h"

namespace kith {

/// A rank that sends through a process group of LibTorch.
class C10dRank : public Communicator {
 public:
  ~C10dRank() override;

 protected:
  C10dRank(const RankPlace& place, const std::string& engine,
           const JoinOptions& options);

  const RankStore& store() const { return store_; }
  void set_group(c10::intrusive_ptr<C10dGroup> group) {
    group_ = std::move(group);
  }

  /// In the destructor of an engine, before the group ends: waits for the
  /// others if all is well.
  void leave();

  /// For calls of the group: longer than finish() waits, which has the better
  /// words.
  std::chrono::milliseconds engine_timeout() const;

  /// Returns when `work` is done; throws if it fails, takes longer than the
  /// time-out, or another rank is in trouble.
  void finish(C10dWork& work);
  /// Waits for `work` for up to `time`, throws if it failed. Whether it is
  /// done.
  virtual bool is_done(C10dWork& work, std::chrono::milliseconds time) = 0;

  void gather_equal(const Tensor& mine, Tensor& all) override;
  void exchange_blocks(Blocks& blocks) override;

 private:
  void broadcast_from(Tensor& tensor, int64_t root) override;
  void set_timeout(std::chrono::milliseconds timeout) override;
  std::string who_is_missing() override;
  void leave_word(const std::string& reason) override;

  RankStore store_;
  int exceptions_;  ///< In flight when the rank joined.
  bool has_left_ = false;
  std::chrono::milliseconds timeout_;
  c10::intrusive_ptr<C10dGroup> group_;
};

}  // namespace kith
