// Makes the loss of binomial_deviance.cpp by its name and checks its value.

#include <cmath>
#include <cstdio>

#include <torch/torch.h>

#include "kith/losses/loss.h"

int main() {
  const kith::ConfigNode node = kith::parse_config(
      "{name: binomial_deviance, alpha: 1, base: 0, cost: 2}", "main");
  const auto loss = kith::loss_registry().make(node, "loss", {});
  kith::LossInput input;
  input.embeddings =
      torch::tensor({{1.0, 0.0}, {0.6, 0.8}, {0.0, 1.0}}).requires_grad_();
  input.labels = torch::tensor({7, 7, 8}, torch::kLong);
  const torch::Tensor value = (*loss)(input).value;
  value.backward();
  // Similarities: 0.6 of the positives, 0 and 0.8 of the negatives.
  const double expected =
      std::log1p(std::exp(-0.6)) +
      (std::log1p(std::exp(2 * 0.0)) + std::log1p(std::exp(2 * 0.8))) / 2;
  std::printf("%.6f, expected %.6f\n", value.item<double>(), expected);
  const bool right = std::abs(value.item<double>() - expected) < 1e-5 &&
                     input.embeddings.grad().abs().sum().item<double>() > 0;
  return right ? 0 : 1;
}
