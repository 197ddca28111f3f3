#pragma once

#include <cstdint>
#include <vector>

#include "kith/core/tensor.h"

namespace kith {

/// Labels numbered from 0 in the order of their values.
struct ClassIndex {
  std::vector<int64_t> of_item;  ///< [N] in [0, classes()).
  std::vector<int64_t> sizes;    ///< [classes()], all positive.

  int64_t classes() const { return static_cast<int64_t>(sizes.size()); }
};

/// [N] int64 on the CPU as a vector. DataError if the items have no labels.
std::vector<int64_t> label_vector(const Tensor& labels);

ClassIndex index_classes(const std::vector<int64_t>& labels);
/// Of label_vector(labels).
ClassIndex index_classes(const Tensor& labels);

/// The items of each class in turn, in their order within a class.
std::vector<int64_t> items_by_class(const ClassIndex& index);

}  // namespace kith
