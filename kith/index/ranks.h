#pragma once

#include <vector>

#include "kith/index/ranked_pairs.h"
#include "kith/index/rows.h"

namespace kith {

struct RankOptions {
  int64_t memory_mb = 512;  ///< For blocks of similarities and of rows.
};

/// The place of each pair's item when the gallery is sorted by inner product
/// with the query, nearest first, from 1; in the order of pairs.items.
///
/// Nothing is sorted: the items nearer than the wanted one are counted, block
/// by block of similarities. Equal similarities count in the order of the
/// gallery. `excluded` ([Q] int64, or undefined) names the item each
/// query must not find; -1 for none.
///
/// The ranks are exact: products only filter (filter_product.h), and where what
/// they are off by could matter, the sum is done again in double and rounded to
/// float32 once. CPU and GPU give the same ranks. DataError names a row that
/// has no rank: see longest_row.
///
/// Of a gallery that ranks share or divide (shared_rows.h) each compares its
/// own items, and all get the same ranks. All call it with the same arguments.
std::vector<int64_t> exact_ranks(const Rows& queries, const Rows& gallery,
                                 const RankedPairs& pairs,
                                 const Tensor& excluded,
                                 const RankOptions& options = {});

/// The exact similarity of each pair, in the order of pairs.items: summed in
/// double and rounded to float32 once. `to` gets their size; its memory is used
/// again. Ranks share the work as above.
void pair_similarities(const Rows& queries, const Rows& gallery,
                       const RankedPairs& pairs, std::vector<float>& to,
                       const RankOptions& options = {});

}  // namespace kith
