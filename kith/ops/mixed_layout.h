#pragma once

#include "kith/ops/row_layout.h"

namespace kith {

/// Sorts a batch with virtual examples. Done on the CPU in O(M + V) after the
/// sort, and sent to the labels' device in two copies: there it would be some
/// sixty small operations.
SortedBatch sort_mixed(const Tensor& labels, const MixedPairs& mixed);

}  // namespace kith
