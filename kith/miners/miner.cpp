#include "kith/miners/miner.h"

#include <torch/torch.h>

namespace kith {

Tensor Miner::operator()(const Tensor& embeddings, const Tensor& labels,
                         Rng& rng) const {
  TORCH_CHECK_VALUE(
      embeddings.dim() == 2 && (embeddings.scalar_type() == at::kFloat ||
                                embeddings.scalar_type() == at::kDouble),
      "embeddings must be float32 or float64 [M, D], got ",
      embeddings.scalar_type(), " ", embeddings.sizes());
  TORCH_CHECK_VALUE(labels.dim() == 1 && labels.scalar_type() == at::kLong &&
                        labels.size(0) == embeddings.size(0),
                    "labels must be int64 [", embeddings.size(0), "], got ",
                    labels.scalar_type(), " ", labels.sizes());
  TORCH_CHECK_VALUE(labels.device() == embeddings.device(), "labels: on ",
                    labels.device(), ", but the embeddings are on ",
                    embeddings.device());
  if (labels.size(0) == 0) return no_tuples(embeddings);
  return mine(embeddings, labels, rng);
}

Tensor Miner::operator()(const Tensor& embeddings, const Tensor& labels,
                         uint64_t seed) const {
  Rng rng(seed, Stream::kMiner);
  return (*this)(embeddings, labels, rng);
}

Tensor Miner::no_tuples(const Tensor& like) const {
  return torch::empty({0, width()}, like.options().dtype(torch::kLong));
}

MinerRegistry& miner_registry() {
  static MinerRegistry registry("miner");
  return registry;
}

}  // namespace kith
