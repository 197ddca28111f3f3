#include "kith/samplers/pool/greedy_coreset.h"

#include <algorithm>
#include <limits>

#include <torch/torch.h>

#include "kith/core/draw.h"
#include "kith/core/lane_sum.h"

namespace kith {

const char* const GreedyCoresetSampler::kSummary =
    "images far from each other, with class mates (GC)";

const PartFacts GreedyCoresetSampler::kFacts = {
    .formula =
        "pool    = P random images, for each batch anew\n"
        "anchors = one of them, then M/m - 1 times the image farthest from\n"
        "          the anchors so far: argmax_x min_a |x - a|\n"
        "batch   = the anchors, with m-1 random class mates each\n"
        "epoch   = N/M batches, N training images, M batch, m per_class",
    .source = "Roth et al., ICML 2020",
    .cost =
        "O(P D / m) time an image of an epoch; O(N D) memory for the "
        "embeddings"};

GreedyCoresetSampler::GreedyCoresetSampler(const Options& options,
                                           const SamplerInput& input)
    : PoolSampler(checked(options, "greedy_coreset"), input, "greedy_coreset"),
      class_of_(static_cast<size_t>(images())) {
  for (size_t c = 0; c < classes().size(); ++c) {
    for (const int64_t row : classes()[c]) {
      class_of_[static_cast<size_t>(row)] = c;
    }
  }
}

std::vector<int64_t> GreedyCoresetSampler::choose(const Tensor& embeddings,
                                                  Rng& rng) const {
  const std::vector<int64_t> rows = draw_distinct(images(), pool(), rng);
  std::vector<int64_t> anchors;
  ClassDraw mates(classes());
  for (const int64_t i :
       farthest_points(embeddings.index_select(0, torch::tensor(rows)),
                       batch() / per_class())) {
    anchors.push_back(rows[static_cast<size_t>(i)]);
    mates.take(class_of(anchors.back()), anchors.back());
  }
  std::vector<int64_t> chosen;
  for (const int64_t anchor : anchors) {
    chosen.push_back(anchor);
    for (int64_t i = 1; i < per_class(); ++i) {
      chosen.push_back(mates.draw(class_of(anchor), rng));
    }
  }
  return chosen;
}

size_t GreedyCoresetSampler::class_of(int64_t row) const {
  return class_of_[static_cast<size_t>(row)];
}

// Plain loops: the matrices are small, and starting threads or a library for
// each of many products takes longer than the product.
std::vector<int64_t> farthest_points(const Tensor& points, int64_t count) {
  TORCH_CHECK_VALUE(points.dim() == 2 && count >= 1 && count <= points.size(0),
                    "farthest_points: cannot choose ", count, " of ",
                    points.sizes());
  const Tensor rows = points.contiguous();
  const float* x = rows.data_ptr<float>();
  const int64_t dim = rows.size(1);
  // Squared distance to the nearest chosen point; of those chosen -1.
  std::vector<float> nearest(static_cast<size_t>(rows.size(0)),
                             std::numeric_limits<float>::infinity());
  std::vector<int64_t> chosen = {0};
  while (true) {
    const int64_t last = chosen.back();
    nearest[static_cast<size_t>(last)] = -1;
    if (static_cast<int64_t>(chosen.size()) == count) return chosen;
    for (int64_t i = 0; i < rows.size(0); ++i) {
      float& least = nearest[static_cast<size_t>(i)];
      least = std::min(least,
                       squared_distance<8>(x + i * dim, x + last * dim, dim));
    }
    chosen.push_back(std::max_element(nearest.begin(), nearest.end()) -
                     nearest.begin());
  }
}

KITH_REGISTER(sampler_registry(), "greedy_coreset", GreedyCoresetSampler);

}  // namespace kith
