#pragma once

#include <cstdint>
#include <vector>

#include "kith/distributed/lanes.h"
#include "kith/ops/row_side.h"

namespace kith {

/// What decides about the blocks of a walk.
struct BlockLimits {
  size_t type_bytes = 4;  ///< Of a number.
  double budget = 0;      ///< Bytes for blocks.
  int64_t edge = 0;       ///< RowLimits::edge
  bool on_gpu = false;
  bool twice = false;  ///< All blocks are walked a second time.
  Lanes lanes = {};    ///< A walk takes the rows of this rank's.
};

/// The matrix of similarities in blocks.
struct BlockPlan {
  std::vector<Stretch> rows;
  std::vector<Stretch> columns;
  bool keep = false;  ///< The budget holds all blocks, for the second walk.
};

/// The longest edge of a block without virtual examples; `edge` as in
/// BlockLimits.
int64_t most_in_block(int64_t edge, bool on_gpu);

/// Blocks of equal edges that the budget holds.
BlockPlan plan_blocks(const RowSides& sides, const BlockLimits& limits);

}  // namespace kith
