#include "kith/ops/half_product.h"

#include <torch/torch.h>

#include "kith/core/torch_compat.h"

namespace kith {

void multiply_halves(Tensor& to, const Tensor& a, const Tensor& b) {
  if (!to.is_cuda()) {
    at::mm_out(to, a.to(at::kFloat), b.to(at::kFloat));
    return;
  }
#if KITH_TORCH_AT_LEAST(2, 8)
  at::mm_out(to, a, b, at::kFloat);
#else
  TORCH_CHECK_VALUE(
      false,
      "products: float16 and bf16_split need LibTorch 2.8 or newer "
      "on a GPU, and kith was built with " TORCH_VERSION
      ": take tf32 or float32");
#endif
}

bool multiplies_halves_on_gpus() { return KITH_TORCH_AT_LEAST(2, 8) != 0; }

}  // namespace kith
