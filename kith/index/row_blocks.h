#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kith/index/rows.h"

namespace kith {

/// How many rows of `bytes_each` fit in `memory_mb`; at least one.
inline int64_t rows_within(int64_t memory_mb, int64_t bytes_each) {
  const int64_t bytes = std::max<int64_t>(memory_mb, 1) * (int64_t{1} << 20);
  return std::max<int64_t>(bytes / bytes_each, 1);
}

/// Calls visit(first, block) for consecutive blocks of up to `size` rows.
template <class Visit>
void for_each_block(const Rows& rows, int64_t size, const Visit& visit) {
  for (int64_t first = 0; first < rows.count(); first += size) {
    visit(first, rows.read(first, std::min(size, rows.count() - first)));
  }
}

/// The rows at these positions, in the order of the positions, read in blocks
/// of up to `size` rows.
Tensor gather_rows(const Rows& rows, const std::vector<int64_t>& positions,
                   int64_t size);

}  // namespace kith
