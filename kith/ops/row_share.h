#pragma once

#include <vector>

#include "kith/distributed/batch_lanes.h"
#include "kith/ops/row_layout.h"

namespace kith {

/// Which rows of a sorted batch a rank walks: those of its lanes, which are
/// neighbours. They need not be those of its own examples.
class RowShare {
 public:
  /// Both must outlive it.
  RowShare(const SortedSet& set, const BatchLanes& batch);

  Communicator& ranks() const { return batch_.ranks; }
  const Lanes& lanes() const { return batch_.lanes; }
  const Stretch& own() const { return own_; }

  /// Gradients [own rows, D] of the rows that were walked here go to the ranks
  /// whose examples they are -> [M, D] in the order of the batch, zero but for
  /// this rank's examples. All know the order of the rows, so the rows alone
  /// are sent.
  Tensor hand_out(const Tensor& gradient) const;

 private:
  Stretch of_rank(int64_t rank) const;

  const SortedSet& set_;
  const BatchLanes& batch_;
  Stretch own_;
};

}  // namespace kith
