#include <torch/torch.h>

#include "kith/miners/choose.h"
#include "kith/miners/class_places.h"
#include "kith/miners/distances.h"
#include "kith/miners/miner.h"

namespace kith {
namespace {

struct SemihardOptions {
  double margin = 0.2;

  void describe(OptionSet& set) {
    set.add("margin", margin,
            "Negatives are at most this much farther than the positive; 0: "
            "any that is farther.")
        .range(0);
  }
};

/// Semi-hard triplets (Schroff, Kalenichenko & Philbin, CVPR 2015), one for
/// each anchor that has a positive and a negative:
///
///     p uniform over P_a
///     n uniform over { n in N_a : D_ap < D_an < D_ap + margin },
///       or over N_a if there is none
class SemihardMiner final : public Miner {
 public:
  static constexpr const char* kSummary =
      "random positives, negatives just beyond them (Schroff et al., CVPR "
      "2015)";
  static constexpr PartFacts kFacts = {
      .formula =
          "p uniform over P_a\n"
          "n uniform over { n in N_a : D_ap < D_an < D_ap + margin }\n"
          "  (margin 0: D_ap < D_an), or over N_a if that is empty",
      .source =
          "Schroff, Kalenichenko & Philbin, CVPR 2015; code of Roth et "
          "al., ICML 2020",
      .cost = "O(M^2 D) time, O(M^2) memory",
      .golden = "miner_semihard"};
  using Options = SemihardOptions;

  explicit SemihardMiner(const Options& options) : options_(options) {}

  Tensor mine(const Tensor& embeddings, const Tensor& labels,
              Rng& rng) const override {
    const int64_t m = labels.size(0);
    if (m == 0) return no_tuples(embeddings, width());
    const Tensor u = draw_uniform(rng, 3, m, embeddings.device());
    const ClassPlaces places(labels);
    const Tensor positives = places.positives(u[0]);
    const Choice choice = choose_uniform(
        candidates(mining_distances(embeddings), labels, positives), u[1]);
    return triplets(
        places.complete(), positives,
        torch::where(choice.found, choice.position, places.negatives(u[2])));
  }

 private:
  /// [M, M] bool.
  Tensor candidates(const Tensor& distances, const Tensor& labels,
                    const Tensor& positives) const {
    const Tensor to_positive = distances.gather(1, positives.unsqueeze(1));
    Tensor within = distances > to_positive;
    if (options_.margin > 0) {
      within.logical_and_(distances < to_positive + options_.margin);
    }
    return within.logical_and_(labels.unsqueeze(0) != labels.unsqueeze(1));
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(miner_registry(), "semihard", SemihardMiner);

}  // namespace kith
