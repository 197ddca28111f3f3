#include <torch/torch.h>

#include "kith/samplers/draw.h"
#include "kith/samplers/pool/farthest_points.h"
#include "kith/samplers/pool/pool_sampler.h"

namespace kith {
namespace {

/// Greedy coreset (GC): batches that cover much of the embedding space. Of a
/// pool of P random images, a random one and then always the one farthest from
/// those chosen, x* = argmax_x min_{x' chosen} |x - x'|, until there are M/m
/// anchors; each brings m-1 random class mates. An image comes twice in a
/// batch only when its class has no other left (Roth et al., ICML 2020).
class GreedyCoresetSampler final : public PoolSampler {
 public:
  static constexpr const char* kSummary =
      "images far from each other, with class mates (GC)";
  static constexpr PartFacts kFacts = {
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
  using Options = PoolOptions;

  GreedyCoresetSampler(const Options& options, const SamplerInput& input)
      : PoolSampler(options, input), class_of_(static_cast<size_t>(images())) {
    for (size_t c = 0; c < classes().size(); ++c) {
      for (const int64_t row : classes()[c]) {
        class_of_[static_cast<size_t>(row)] = c;
      }
    }
  }

 private:
  std::vector<int64_t> choose(const Tensor& embeddings,
                              Rng& rng) const override {
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

  size_t class_of(int64_t row) const {
    return class_of_[static_cast<size_t>(row)];
  }

  std::vector<size_t> class_of_;  ///< By row.
};

}  // namespace

KITH_REGISTER(sampler_registry(), "greedy_coreset", GreedyCoresetSampler);

}  // namespace kith
