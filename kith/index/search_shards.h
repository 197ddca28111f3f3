#pragma once

#include "kith/index/flat.h"

namespace kith {

/// The part of exact_search() for a gallery with a shard().
Neighbours search_shards(const Rows& queries, const Rows& gallery,
                         const Tensor& excluded, const SearchOptions& options);

}  // namespace kith
