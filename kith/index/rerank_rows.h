#pragma once

#include <vector>

#include "kith/index/reranker.h"

namespace kith {

/// The queries at some positions and then the gallery, where the gallery is,
/// and divided as it is.
Rows rows_before(const Rows& queries, const std::vector<int64_t>& positions,
                 const RerankSet& set);

/// The set after a step that changes vectors. New vectors are in memory:
/// ConfigError if they take more than memory_mb and the old ones are not.
RerankSet with_new_vectors(const RerankStep& step, const VectorReranker& part,
                           RerankSet set);

/// Each of some rows [n, D] with its neighbours [n, k, D] of these similarities
/// [n, k], as `part` weighs them; summed in double.
Tensor sum_with(const VectorReranker& part, const Tensor& rows,
                const Tensor& near, const Tensor& similarities);

}  // namespace kith
