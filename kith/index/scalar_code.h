#pragma once

#include <cstdint>

#include "kith/core/tensor.h"

namespace kith {

/// Vectors whose numbers are kept in less room, each by itself, as faiss's
/// ScalarQuantizer does it:
///
/// - float16: rounded to half precision;
/// - int8: number j in one of 256 equal steps of its range, which begins at
///   low_j and is width_j wide; numbers outside go to its ends,
///
///       c = floor(255 (x - low) / width),  x' = low + width (c + 1/2) / 255
class ScalarCode {
 public:
  static ScalarCode float16(int64_t dim);
  /// low and width, float32 [D] on the CPU.
  static ScalarCode int8(const Tensor& low, const Tensor& width);
  /// Whose ranges are those of vectors [N, D], of which there is at least one.
  static ScalarCode int8_of(const Tensor& rows);

  bool is_float16() const { return !low_.defined(); }
  int64_t dim() const { return dim_; }
  int64_t row_bytes() const { return is_float16() ? 2 * dim_ : dim_; }
  const Tensor& low() const { return low_; }  ///< Undefined of float16.
  const Tensor& width() const { return width_; }

  /// [N, D] float32 -> [N, row_bytes()] uint8, on the same device.
  Tensor encode(const Tensor& rows) const;
  /// The vectors that codes stand for.
  Tensor decode(const Tensor& codes) const;

 private:
  explicit ScalarCode(int64_t dim) : dim_(dim) {}

  int64_t dim_;
  Tensor low_;
  Tensor width_;
};

}  // namespace kith
