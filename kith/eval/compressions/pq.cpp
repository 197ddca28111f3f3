#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/rng.h"
#include "kith/eval/compressions.h"
#include "kith/eval/kmeans.h"

namespace kith {
namespace {

/// Means of the rows of each cluster in double; zeros where there are none.
Tensor means_of(const Tensor& rows, const std::vector<int64_t>& clusters,
                int64_t count) {
  const Tensor own = torch::tensor(clusters, torch::kLong);
  const auto options = rows.options().dtype(torch::kDouble);
  Tensor sums = torch::zeros({count, rows.size(1)}, options);
  sums.index_add_(0, own, rows.to(torch::kDouble));
  Tensor sizes = torch::zeros({count}, options);
  sizes.index_add_(0, own, torch::ones({rows.size(0)}, options));
  return (sums / sizes.clamp_min(1).unsqueeze(1)).to(torch::kFloat);
}

/// [N] the number of the nearest centre; of equal ones the first.
Tensor nearest_centres(const Tensor& rows, const Tensor& centres) {
  const Tensor c = centres.to(torch::kDouble);
  const Tensor half_norms = c.square().sum(1).div(2);
  return torch::mm(rows.to(torch::kDouble), c.t()).sub_(half_norms).argmax(1);
}

}  // namespace

void PqCompressionOptions::describe(OptionSet& set) {
  set.add("subvectors", subvectors,
          "Pieces of a vector, a divisor of its dimension.")
      .range(1, 1 << 20);
  set.add("bits", bits, "Bits of the code of a piece.").range(1, 12);
}

PqCompression::PqCompression(const Options& options)
    : options_(checked(options, "pq")) {}

int64_t PqCompression::dim(int64_t before) const {
  if (before % options_.subvectors == 0) return before;
  throw ConfigError(
      "option 'compress': pq:" + std::to_string(options_.subvectors) +
      " does not divide vectors of " + std::to_string(before) + " numbers");
}

void PqCompression::learn(const Tensor& rows, uint64_t seed) {
  const int64_t count = int64_t{1} << options_.bits;
  if (rows.size(0) < count) {
    throw DataError("pq: " + std::to_string(rows.size(0)) +
                    " training vectors, but there are " +
                    std::to_string(count) +
                    " centres (2^bits) of a piece: take fewer bits, as pq:" +
                    std::to_string(options_.subvectors) + ":4");
  }
  std::vector<Tensor> all;
  for (const Tensor& piece : rows.chunk(options_.subvectors, 1)) {
    const Tensor part = piece.contiguous();
    KMeansOptions options;
    options.clusters = count;
    options.seed = seed;
    all.push_back(means_of(part, kmeans(part, options), count));
  }
  centres_ = torch::stack(all);
}

Tensor PqCompression::items(const Tensor& rows) const {
  std::vector<Tensor> decoded;
  const std::vector<Tensor> pieces = rows.chunk(options_.subvectors, 1);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Tensor centres = centres_[static_cast<int64_t>(i)];
    decoded.push_back(
        centres.index_select(0, nearest_centres(pieces[i], centres)));
  }
  return torch::cat(decoded, 1);
}

KITH_REGISTER(compression_registry(), "pq", PqCompression);

}  // namespace kith
