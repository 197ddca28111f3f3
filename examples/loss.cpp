// Value and gradient of a loss on embeddings made anywhere.
#include <iostream>

#include <torch/torch.h>

#include "kith/losses/recall_at_k.h"
#include "kith/ops/pairwise.h"

int main() {
  torch::manual_seed(0);
  // 100 classes with 4 embeddings each, as a network would give them.
  const auto labels = torch::arange(100).repeat_interleave(4);
  const auto centres = torch::randn({100, 64}).repeat_interleave(4, 0);
  auto raw = (centres + 0.9 * torch::randn({400, 64})).requires_grad_(true);

  const kith::RecallAtK loss({.k = {1, 2, 4}, .t2 = 0.05});
  const auto output = loss(kith::normalize_rows(raw), labels);
  output.value.backward();

  std::cout << "loss " << output.value.item<double>() << ", gradient norm "
            << raw.grad().norm().item<double>() << "\n";
  for (const auto& [name, value] : output.stats) {
    std::cout << name << " " << value << "\n";
  }
}
