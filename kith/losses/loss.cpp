#include "kith/losses/loss.h"

#include <algorithm>

#include <torch/torch.h>

namespace kith {
namespace {

void check_tuples(const Loss& loss, const LossInput& input) {
  const std::vector<int64_t> widths = loss.tuple_widths();
  TORCH_CHECK_VALUE(!widths.empty(),
                    "this loss uses the whole batch and takes "
                    "no tuples (no miner)");
  const Tensor& tuples = input.tuples;
  TORCH_CHECK_VALUE(tuples.dim() == 2 && tuples.scalar_type() == at::kLong,
                    "tuples must be int64 [T, columns], got ", tuples.sizes());
  TORCH_CHECK_VALUE(
      std::count(widths.begin(), widths.end(), tuples.size(1)) > 0,
      "tuples must have ", c10::Join(" or ", widths), " columns, got ",
      tuples.size(1));
  if (tuples.numel() == 0) return;
  const int64_t lowest = tuples.min().item<int64_t>();
  const int64_t highest = tuples.max().item<int64_t>();
  TORCH_CHECK_VALUE(lowest >= 0 && highest < input.embeddings.size(0),
                    "tuples hold positions ", lowest, " to ", highest,
                    ", but a batch of ", input.embeddings.size(0), " has 0 to ",
                    input.embeddings.size(0) - 1);
}

}  // namespace

LossRegistry& loss_registry() {
  static LossRegistry registry("loss");
  return registry;
}

LossOutput compute_loss(const Loss& loss, const LossInput& input) {
  const Tensor& x = input.embeddings;
  TORCH_CHECK_VALUE(x.dim() == 2 && x.is_floating_point(),
                    "embeddings must be floating point [M, D], got ",
                    x.scalar_type(), " ", x.sizes());
  TORCH_CHECK_VALUE(input.labels.dim() == 1 &&
                        input.labels.scalar_type() == at::kLong &&
                        input.labels.size(0) == x.size(0),
                    "labels must be int64 [", x.size(0), "], got ",
                    input.labels.scalar_type(), " ", input.labels.sizes());
  if (input.tuples.defined()) check_tuples(loss, input);
  return loss.forward(input);
}

}  // namespace kith
