#include "tests/support/torch/losses.h"

#include <torch/torch.h>

#include "kith/ops/pairwise.h"

namespace kith {
namespace {

LossGradient run(const Loss& loss, LossInput input, bool normalize) {
  const Tensor x = input.embeddings.detach().clone().requires_grad_();
  input.embeddings = normalize ? normalize_rows(x) : x;
  const Tensor value = loss(input).value;
  LossGradient result;
  result.value = value.item<double>();
  result.connected = value.requires_grad();
  if (result.connected) value.backward();
  result.gradient = x.grad();
  return result;
}

}  // namespace

std::unique_ptr<Loss> make_loss(const std::string& yaml,
                                const LossContext& context) {
  return loss_registry().make(parse_config(yaml, "test"), "loss", context);
}

LossGradient differentiate(const Loss& loss, const LossInput& input) {
  return run(loss, input, /*normalize=*/false);
}

LossGradient differentiate_normalized(const Loss& loss,
                                      const LossInput& input) {
  return run(loss, input, /*normalize=*/true);
}

LossInput moved_to(LossInput input, const at::Device& device) {
  for (Tensor* tensor :
       {&input.embeddings, &input.labels, &input.tuples, &input.mixed.pairs,
        &input.mixed.alphas, &input.database.embeddings, &input.database.labels,
        &input.database.self}) {
    if (tensor->defined()) *tensor = tensor->to(device);
  }
  return input;
}

}  // namespace kith
