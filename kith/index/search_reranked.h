#pragma once

#include <functional>
#include <vector>

#include "kith/index/reranker.h"
#include "kith/index/stored_index.h"

namespace kith {

/// ConfigError if an index cannot be searched in this way: its vectors are not
/// kept, or a step would change them all.
void check_rerank(const RerankSteps& steps, const StoredIndex& index);

/// StoredIndex::search() with re-ranking. Each query [1, dim] by itself, so
/// that an answer does not depend on who else asks: steps that change vectors
/// change the query, and the last orders its nearest items anew, among
/// themselves. Neighbours are items that may be found. Similarities are those
/// to the query as it came.
std::vector<std::vector<SearchHit>> search_reranked(
    const StoredIndex& index, const Tensor& queries, int64_t k,
    const RerankSteps& steps,
    const std::function<bool(int64_t)>& keep = nullptr);

}  // namespace kith
