#pragma once

#include <algorithm>
#include <cstdint>

#include "kith/core/error.h"
#include "kith/eval/protocol.h"

namespace kith {

/// The item of a task `to` that has the place of `item` in the task `from`.
/// Both have the same images, whose positions in two lists may differ: one data
/// set may hold training images that the other leaves out.
inline int64_t same_item(const EvalTask& from, int64_t item,
                         const EvalTask& to) {
  const bool in_gallery =
      std::binary_search(from.gallery.begin(), from.gallery.end(), item);
  const auto& items = in_gallery ? from.gallery : from.queries;
  const auto found = std::lower_bound(items.begin(), items.end(), item);
  KITH_ASSERT(found != items.end() && *found == item);
  return (in_gallery ? to.gallery
                     : to.queries)[static_cast<size_t>(found - items.begin())];
}

}  // namespace kith
