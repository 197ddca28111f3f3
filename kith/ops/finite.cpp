#include "kith/ops/finite.h"

#include <cmath>
#include <vector>

#include <torch/torch.h>

namespace kith {

bool all_finite(const Tensor& values) {
  if (values.numel() == 0 || !values.is_floating_point()) return true;
  if (values.numel() == 1) return std::isfinite(values.item<double>());
  // Of half precision the CPU knows no least and most.
  const bool wide =
      values.scalar_type() == at::kFloat || values.scalar_type() == at::kDouble;
  const Tensor known = wide ? values.detach() : values.detach().to(at::kFloat);
  const auto [least, most] = torch::aminmax(known);  // NaN if there is one
  return torch::stack({least, most}).isfinite().all().item<bool>();
}

int64_t first_bad_row(const Tensor& rows) {
  if (all_finite(rows)) return -1;
  const Tensor bad = torch::isfinite(rows).all(1).logical_not().nonzero();
  return bad[0][0].item<int64_t>();
}

std::string first_bad_tensor(const NamedTensors& tensors) {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> values;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.is_floating_point() || tensor.numel() == 0) continue;
    values.push_back(tensor.detach());
  }
  if (values.empty()) return "";
  std::vector<Tensor> norms = at::_foreach_norm(values);
  for (Tensor& norm : norms) norm = norm.to(at::kDouble);
  if (torch::stack(norms).isfinite().all().item<bool>()) return "";
  // Which it is; or none: squares of large numbers are infinite in float32.
  for (const auto& [name, tensor] : tensors) {
    if (!all_finite(tensor)) return name;
  }
  return "";
}

}  // namespace kith
