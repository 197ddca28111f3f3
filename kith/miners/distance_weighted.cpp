#include <torch/torch.h>

#include "kith/miners/choose.h"
#include "kith/miners/class_places.h"
#include "kith/miners/distance_weights.h"
#include "kith/miners/miner.h"

namespace kith {
namespace {

/// Distance weighted sampling (Wu et al., ICCV 2017): for each anchor that has
/// a positive and a negative a uniform positive, and a negative with
/// probability proportional to 1 / q(D_an) (distance_weights.h).
class DistanceWeightedMiner final : public Miner {
 public:
  static constexpr const char* kSummary =
      "random positives, negatives of all distances alike (Wu et al., ICCV "
      "2017)";
  static constexpr PartFacts kFacts = {
      .formula =
          "p uniform over P_a\n"
          "n from N_a with probability proportional to 1 / q(D), D = "
          "max(D_an, cutoff),\n"
          "log q(D) = (d - 2) log D + (d - 3) / 2 log(1 - D^2 / 4)",
      .source = "Wu, Manmatha, Smola & Krahenbuhl, ICCV 2017",
      .cost = "O(M^2 D) time, O(M^2) memory",
      .golden = "miner_distance_weighted"};
  using Options = DistanceWeightOptions;

  explicit DistanceWeightedMiner(const Options& options) : options_(options) {}

  Tensor mine(const Tensor& embeddings, const Tensor& labels,
              Rng& rng) const override {
    const int64_t m = labels.size(0);
    if (m == 0) return no_tuples(embeddings, width());
    const Tensor u = draw_uniform(rng, 3, m, embeddings.device());
    const ClassPlaces places(labels);
    return triplets(places.complete(), places.positives(u[0]),
                    weighted_negatives(embeddings, labels, places,
                                       u.slice(0, 1), options_));
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(miner_registry(), "distance_weighted", DistanceWeightedMiner);

}  // namespace kith
