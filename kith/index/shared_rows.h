#pragma once

#include "kith/distributed/communicator.h"
#include "kith/index/rows.h"

namespace kith {

/// The rows that one of several ranks works on: neighbours, those of rank 0
/// first.
struct RowShard {
  Rows mine;                      ///< Read by this rank alone.
  int64_t first = 0;              ///< Place of the first one among all rows.
  Communicator* ranks = nullptr;  ///< Never null.
};

/// Rows of which each rank keeps its own: those of rank 0 come first. All ranks
/// have the same number of columns, and any number of rows, also none. All call
/// this together.
///
/// They are in no one's memory as a whole: whoever reads a block gets what the
/// others have of it, so all ranks read the same blocks in the same order, from
/// one thread each.
Rows shared_rows(const Tensor& mine, Communicator& ranks);

/// The same rows, which every rank can read by itself; the work on them is
/// divided. Of one rank, just these rows.
Rows divided_rows(const Rows& all, Communicator& ranks);

}  // namespace kith
