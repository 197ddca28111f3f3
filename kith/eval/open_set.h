#pragma once

#include <cstdint>
#include <vector>

#include "kith/eval/scored.h"

namespace kith {

// Searches for what is not in the gallery: some classes are left out of it, and
// their queries are not mated (ISO/IEC 19795).

/// Labels of `share` of the gallery's classes, at least one and at most all but
/// one, drawn with the seed; rising. None for a share of 0 or a single class.
std::vector<int64_t> draw_unknown(const Tensor& gallery_labels, double share,
                                  uint64_t seed);

/// The same queries among the items of all other classes. `scored` is checked
/// and has labels.
Scored without_classes(const Scored& scored,
                       const std::vector<int64_t>& labels);

}  // namespace kith
