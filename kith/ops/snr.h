#pragma once

#include "kith/core/tensor.h"

namespace kith {

/// What the signal-to-noise distance of vectors is made of (Yuan et al., CVPR
/// 2019): var(x_i - x_j) / var(x_i) over the coordinates is
/// |c_i - c_j|^2 / |c_i|^2 with c the vectors less their coordinates' mean.
struct SnrRows {
  Tensor mean;     ///< [M] of the coordinates, connected to x.
  Tensor scale;    ///< A number: c is in units of it, so that squares exist.
  Tensor centred;  ///< [M, D] c, connected to x.
  Tensor inverse;  ///< [M] 1 / |c|^2, connected to x; 0 where flat.
  /// [M] bool: all coordinates are equal but for rounding, so that there is no
  /// ratio. False for what is not a number.
  Tensor flat;
};

SnrRows snr_rows(const Tensor& x);

}  // namespace kith
