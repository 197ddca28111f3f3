#pragma once

#include <cstdint>
#include <vector>

#include "kith/index/rows.h"

namespace kith {

struct KMeansOptions {
  int64_t clusters = 1;  ///< K, at most the number of rows.
  int64_t iterations = 20;
  uint64_t seed = 0;
  int64_t memory_mb = 512;  ///< For blocks; the centres, [K, D], come on top.
};

/// [N] the cluster of each row, in [0, K).
///
/// Lloyd's algorithm: K random rows are the first centres; rows go to the
/// centre at the least Euclidean distance (equal ones: the lower), and centres
/// to the mean of their rows, until no row changes its cluster or after
/// `iterations` rounds. A cluster that lost all rows takes the row farthest
/// from its centre. For rows of length at most 1.
///
/// The result does not depend on the number of threads or the memory: products
/// are in float32, and done again in double where rounding could matter. On a
/// GPU the sums of centres are added up in any order, in double, and rounded
/// to float32: differences are possible, but unlikely.
std::vector<int64_t> kmeans(const Rows& rows, const KMeansOptions& options);

}  // namespace kith
