#pragma once

#include <string>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/ops/row_layout.h"

namespace kith {

// The losses of the row engine as their formulas are written, by plain autograd
// on the matrix of similarities: slow, and short enough to be seen to be right.

/// Whether there is a reference of the loss of this name.
bool has_reference(const std::string& name);

/// A loss with its default options on a batch, with SiMix if there are pairs.
/// x [M, D] double, labels [M]. Losses of distances take D^2 = 2 - 2 s with
/// SiMix and |x - y|^2 without.
Tensor reference_loss(const std::string& name, const Tensor& x,
                      const Tensor& labels, const MixedPairs& mixed = {});

/// The batch and behind it its virtual examples; their labels.
Tensor with_virtual(const Tensor& x, const MixedPairs& mixed);
Tensor labels_with_virtual(const Tensor& labels, const MixedPairs& mixed);

/// What a row loss is a function of.
struct Similarities {
  Tensor s;              ///< [R, C] double
  Tensor row_labels;     ///< [R]
  Tensor column_labels;  ///< [C]
  Tensor self;           ///< [R] which column is the row itself, or -1
};

/// Of a batch that is its own database.
Similarities similarities_of_batch(const Tensor& s, const Tensor& labels);

/// A loss with its default options, without a penalty of norms.
Tensor reference_loss(const std::string& name, const Similarities& in);

struct RankOptions {
  double temperature = 0.01;  ///< t2 of recall_at_k
  bool query_in_database = false;
  std::vector<int64_t> k = {1, 2, 4, 8, 16};
};
Tensor reference_recall_at_k(const Similarities& in,
                             const RankOptions& options);
Tensor reference_smooth_ap(const Similarities& in, const RankOptions& options);
Tensor reference_circle(const Similarities& in, bool detach);

}  // namespace kith
