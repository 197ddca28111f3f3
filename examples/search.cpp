// Exact nearest neighbours and retrieval metrics of embeddings.
#include <iostream>

#include <torch/torch.h>

#include "kith/kith.h"

int main() {
  torch::manual_seed(0);
  const auto labels = torch::arange(200).repeat_interleave(5);
  const auto embeddings =
      kith::normalize_rows(torch::randn({200, 32}).repeat_interleave(5, 0) +
                           torch::randn({1000, 32}));

  // The five nearest of the first three items, themselves excluded by index.
  const auto found = kith::exact_search(embeddings.slice(0, 0, 3), embeddings,
                                        torch::arange(3), {.k = 5});
  std::cout << found.indices << "\n";

  const auto result =
      kith::evaluate({embeddings, labels, {}, {}, {}},
                     kith::parse_metrics({"recall_any@1,10", "map_at_r"}));
  for (const auto& metric : result.metrics) {
    std::cout << metric.name << " " << metric.value << "\n";
  }
  std::cout << result.protocol_line() << "\n";
}
