#include "kith/index/scalar_code.h"

#include <torch/torch.h>

#include "kith/core/error.h"

namespace kith {

ScalarCode ScalarCode::float16(int64_t dim) { return ScalarCode(dim); }

ScalarCode ScalarCode::int8(const Tensor& low, const Tensor& width) {
  KITH_ASSERT(low.dim() == 1 && low.sizes() == width.sizes());
  ScalarCode code(low.size(0));
  code.low_ = low.contiguous();
  code.width_ = width.contiguous();
  return code;
}

ScalarCode ScalarCode::int8_of(const Tensor& rows) {
  KITH_ASSERT(rows.dim() == 2 && rows.size(0) > 0);
  const Tensor low = rows.amin(0).cpu();
  return int8(low, rows.amax(0).cpu() - low);
}

Tensor ScalarCode::encode(const Tensor& rows) const {
  if (is_float16()) {
    return rows.to(at::kHalf).contiguous().view(at::kByte);
  }
  const Tensor width = width_.to(rows.device());
  const Tensor part =
      (rows - low_.to(rows.device())) / width.masked_fill(width == 0, 1);
  return part.clamp(0, 1).mul(255).to(at::kByte);
}

Tensor ScalarCode::decode(const Tensor& codes) const {
  if (is_float16()) {
    return codes.contiguous().view(at::kHalf).to(at::kFloat);
  }
  return torch::addcmul(low_.to(codes.device()),
                        (codes.to(at::kFloat) + 0.5).div_(255),
                        width_.to(codes.device()));
}

}  // namespace kith
