#include "cli/bench_batch.h"

#include <algorithm>
#include <cmath>

#include <torch/torch.h>

#include "kith/ops/pairwise.h"

namespace kith {

LossInput random_batch(const BenchBatch& bench) {
  torch::manual_seed(static_cast<uint64_t>(bench.seed));
  const int64_t classes = bench.batch / bench.per_class;
  Tensor labels = torch::arange(classes).repeat_interleave(bench.per_class);
  if (!bench.sorted) {
    labels = labels.index_select(0, torch::randperm(bench.batch));
  }
  const auto d = static_cast<double>(bench.dim);
  // Unit centres and noise of length n: positives have similarity 1 / (1 + n^2)
  // on average.
  const double similarity =
      bench.similarity > 0 ? bench.similarity : std::min(0.5, 3 / std::sqrt(d));
  const double noise = std::sqrt(1 / similarity - 1);
  const Tensor centres = normalize_rows(torch::randn({classes, bench.dim}));
  Tensor x = torch::randn({bench.batch, bench.dim}).mul_(noise / std::sqrt(d));
  x.add_(centres.index_select(0, labels));
  x = x.to(bench.float64 ? torch::kDouble : torch::kFloat);
  LossInput input;
  input.embeddings = normalize_rows(x).to(bench.device);
  input.labels = labels.to(bench.device);
  input.seed = static_cast<uint64_t>(bench.seed);
  return input;
}

}  // namespace kith
