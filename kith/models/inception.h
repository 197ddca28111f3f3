#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kith/models/backbones.h"

namespace kith {

/// A part of a network that makes one map of another, [N, C, H, W] both.
using Layer = std::function<Tensor(const Tensor&)>;

/// Layers one behind another.
using Path = std::vector<Layer>;

/// An inception block: all paths see the same map, and their results are put
/// one behind another along the channels.
Layer inception_block(std::vector<Path> paths);

/// The maximum of every `window` x `window` values in steps of 2. Windows start
/// at the corner; one that reaches over the edge counts as well, and one that
/// is larger than the map is the map.
Layer halve(int64_t window = 3);

/// The maximum of 3x3 values around every value.
Tensor max_around(const Tensor& x);

/// Channels of a block of GoogLeNet (Szegedy et al., 2015, table 1): a 1x1
/// convolution, a 3x3 and a 5x5 one behind a 1x1 one that reduces, and a 1x1
/// one behind a pool.
struct GoogLeNetBlock {
  std::string name;  ///< "3a"
  int64_t one;
  int64_t reduce_three;
  int64_t three;
  int64_t reduce_five;
  int64_t five;
  int64_t pool;

  int64_t out() const { return one + three + five + pool; }
};

/// The layers of an inception network (InceptionNet) in three parts.
struct InceptionLayers {
  Path stem;   ///< To 1/8 of the input's size.
  Path early;  ///< The blocks 3a, 3b, ...
  Path late;   ///< The rest, to 1/32.
};

/// Adds the blocks of GoogLeNet, which `make` makes of their channels and those
/// that come in, and the pools between them. `last_window` is that of the last
/// pool.
void add_googlenet_blocks(
    InceptionLayers& layers, int64_t last_window,
    const std::function<Layer(const GoogLeNetBlock&, int64_t in)>& make);

}  // namespace kith
