#pragma once

#include <string>

#include "kith/core/tensor.h"

namespace kith {

/// [1, prefix + side side, W] positions of a square grid -> those of a grid of
/// rows x columns, by bicubic interpolation; the prefix (class token,
/// registers) stays. `method` is how the code that trained the network does it:
///
/// - "antialias": averages where the grid becomes smaller (timm, DINOv2 with
///   registers);
/// - "plain": by the sizes alone (Hugging Face, torchvision);
/// - "offset": by the scale (rows + 0.1) / side (DINO, DINOv2).
///
/// Two products with small matrices, so that gradients are sums in a fixed
/// order on a GPU too.
Tensor resize_positions(const Tensor& positions, int64_t prefix, int64_t rows,
                        int64_t columns, const std::string& method);

/// The side of a square grid of `patches` patches; 0 if they make no square.
int64_t grid_side(int64_t patches);

/// Rotary positions in two dimensions (DINOv3): the first half of a head's
/// frequencies turns with the row, the other with the column. Row r of R lies
/// at 2 (r + 0.5) / R - 1, whatever the size.
struct RotaryAngles {
  Tensor cos;  ///< [rows columns, d]; undefined: nothing is turned.
  Tensor sin;

  RotaryAngles() = default;
  /// `width`: d, of a head. Periods are base^(4 i / d), i < d / 4.
  RotaryAngles(int64_t rows, int64_t columns, int64_t width, double base,
               const at::TensorOptions& like);

  /// Turns the last tokens, the patches, of queries or keys [N, heads, T, d].
  Tensor operator()(const Tensor& x) const;
};

}  // namespace kith
