#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kith/ops/row_engine.h"

namespace kith {

struct RowStart;

/// Value and gradient of one row loss, with the same parameters and limits,
/// batch after batch. Of small batches on a
/// GPU most time goes into starting some twenty kernels; here what follows the
/// sort and the first product is recorded and started as a whole (Replay), once
/// two batches of a kind were computed the usual way: of as many examples and
/// the same sizes of classes in sum. The results are the same to the bit.
///
/// A recording keeps its memory, at most some 100 MB, until batches of another
/// kind are recorded. What cannot be recorded is computed the usual way, and
/// one line of log says why.
class RowReplay {
 public:
  /// `always`: whatever the device, for tests.
  explicit RowReplay(bool always = false);
  ~RowReplay();
  RowReplay(const RowReplay&) = delete;
  RowReplay& operator=(const RowReplay&) = delete;

  /// As run_rows() with a gradient. Of several threads one is served here, the
  /// others compute the usual way.
  RowOutput run(const RowLoss& loss, const RowInput& input,
                const RowLimits& limits);

  int64_t replays() const { return replays_; }

 private:
  struct Recording;
  using Kind = std::vector<int64_t>;

  bool may_replay(const RowInput& input) const;
  RowOutput replay(const RowStart& start);
  void record(const RowLoss& loss, const RowLimits& limits, RowStart& start,
              Kind kind);

  bool always_;
  bool is_on_ = true;
  std::mutex mutex_;
  Kind last_kind_;    ///< Of the last batch that was not replayed,
  int64_t seen_ = 0;  ///< and how many of that kind came one after the other.
  int64_t replays_ = 0;
  std::unique_ptr<Recording> recording_;  ///< Null: none.
};

}  // namespace kith
