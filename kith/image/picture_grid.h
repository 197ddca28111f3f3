#pragma once

#include <vector>

#include "kith/image/image.h"

namespace kith {

/// One RGB picture of many: rows of square cells, `cell` pixels wide, on white
/// with even gaps between and around them. Each picture is scaled to fit its
/// cell and centred; an empty one leaves its cell white, as does a row that is
/// shorter than the longest. At least one cell, cell > 0 (asserted).
Image picture_grid(const std::vector<std::vector<Image>>& rows, int cell);

}  // namespace kith
