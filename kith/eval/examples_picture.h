#pragma once

#include <cstdint>
#include <vector>

#include "kith/data/data_set.h"
#include "kith/eval/query_neighbours.h"

namespace kith {

/// One picture of queries with what they found: a row each, the query first,
/// then the items, nearest first, framed green where they are right and red
/// where they are wrong. Cells are `cell` pixels wide. `queries` are positions
/// in the data set's list, one at least (asserted).
Image examples_picture(const DataSet& data, const std::vector<int64_t>& queries,
                       const std::vector<std::vector<NeighbourItem>>& found,
                       int cell);

}  // namespace kith
