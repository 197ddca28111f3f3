// Codes of each number by itself.

#include <cmath>

#include <torch/torch.h>

#include "kith/eval/compressions.h"
#include "kith/index/scalar_code.h"

namespace kith {

Tensor Float16Compression::items(const Tensor& rows) const {
  const ScalarCode code = ScalarCode::float16(rows.size(1));
  return code.decode(code.encode(rows));
}

KITH_REGISTER(compression_registry(), "float16", Float16Compression);

void Int8Compression::learn(const Tensor& rows, uint64_t) {
  const ScalarCode code = ScalarCode::int8_of(rows);
  low_ = code.low();
  width_ = code.width();
}

Tensor Int8Compression::items(const Tensor& rows) const {
  const ScalarCode code = ScalarCode::int8(low_, width_);
  return code.decode(code.encode(rows));
}

KITH_REGISTER(compression_registry(), "int8", Int8Compression);

void BinaryCompression::learn(const Tensor& rows, uint64_t) {
  medians_ = std::get<0>(rows.median(0)).contiguous();
}

/// Bits as 1 and -1, of length 1.
Tensor BinaryCompression::queries(const Tensor& rows) const {
  const double one = 1 / std::sqrt(static_cast<double>(rows.size(1)));
  return torch::where(rows > medians_, torch::full({}, one, rows.options()),
                      torch::full({}, -one, rows.options()));
}

KITH_REGISTER(compression_registry(), "binary", BinaryCompression);

}  // namespace kith
