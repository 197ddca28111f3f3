#pragma once

#include <utility>
#include <vector>

#include "kith/eval/embedded_split.h"
#include "kith/ops/pairwise.h"
#include "tests/support/torch/tensors.h"

namespace kith {

/// Twelve images at positions 10 to 21 of a list, three of each class.
inline EmbeddedSplit twelve_images(std::vector<EvalTask> tasks) {
  EmbeddedSplit split;
  split.tasks = std::move(tasks);
  split.embeddings = normalize_rows(random_normal({12, 4}, 3, at::kFloat));
  for (int64_t i = 0; i < 12; ++i) {
    split.rows_of.push_back(10 + i);
    split.labels.push_back(i / 3);
  }
  return split;
}

}  // namespace kith
