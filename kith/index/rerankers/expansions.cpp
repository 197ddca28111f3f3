#include <torch/torch.h>

#include "kith/index/rerankers.h"

namespace kith {

void ExpansionOptions::describe(OptionSet& set) {
  set.add("k", k, "Nearest neighbours that are added to a vector.")
      .range(1, 1 << 16);
  set.add("alpha", alpha,
          "A neighbour weighs its similarity to the power of this; 0: as much "
          "as the vector.")
      .range(0, 1000);
}

NeighbourMean::NeighbourMean(const Options& options, const char* name)
    : options_(checked(options, name)) {}

Tensor NeighbourMean::weights(const Tensor& similarities) const {
  const Tensor s = similarities.to(at::kDouble);
  return torch::where(s > 0, s.pow(options_.alpha), torch::zeros_like(s));
}

KITH_REGISTER(reranker_registry(), "query_expansion", QueryExpansion);

KITH_REGISTER(reranker_registry(), "database_augmentation",
              DatabaseAugmentation);

}  // namespace kith
