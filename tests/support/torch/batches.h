#pragma once

#include <string>
#include <vector>

#include "kith/losses/loss.h"
#include "kith/ops/row_layout.h"

namespace kith {

// In a namespace of its own, for the loader's kith::LabelledBatch is another
// type.
/// Unit vectors in double with labels of any values in any order.
struct LabelledBatch {
  std::string name;  ///< "7 of 3 classes, dim 5, seed 2"
  Tensor x;          ///< [M, D]
  Tensor labels;     ///< [M]

  int64_t size() const;
  LossInput input(at::ScalarType type = at::kDouble) const;
};

/// Classes of these sizes, with random labels, shuffled.
LabelledBatch make_batch(const std::vector<int64_t>& class_sizes, int64_t dim,
                         uint64_t seed);

/// Batches of 1 to 40 examples: random class sizes with singletons among them,
/// only one class, only singletons.
std::vector<LabelledBatch> random_batches();

/// All pairs of positives with random alphas.
MixedPairs all_pairs(const LabelledBatch& batch, uint64_t seed);

}  // namespace kith
