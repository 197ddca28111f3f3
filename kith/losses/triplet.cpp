#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/ops/tuples.h"

namespace kith {
namespace {

struct TripletOptions {
  double margin = 0.2;
  bool squared = false;
  std::string reduction = "all";

  void describe(OptionSet& set) {
    set.add("margin", margin,
            "How much farther than the positive the negative should be.");
    set.add("squared", squared,
            "Squared distances, as in the published study's code.");
    set.add("reduction", reduction,
            "Mean over all triplets, or over the active ones (with a positive "
            "term).")
        .choices({"all", "active"});
  }
};

/// Triplet loss (Schroff, Kalenichenko & Philbin, CVPR 2015) on given triplets;
/// `triplet_all` takes all of the batch.
///
///     l(a,p,n) = [D_ap - D_an + margin]+
///
/// D is the Euclidean distance, or its square. Columns are used as they are
/// given, whatever the labels. O(T D) time.
class TripletLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "triplet (Schroff et al., CVPR 2015), given triplets";
  static constexpr PartFacts kFacts = {
      .formula =
          "l(a,p,n) = [D_ap - D_an + margin]+, D^2 for D with `squared`\n"
          "loss = mean over triplets",
      .source = "Schroff, Kalenichenko & Philbin, CVPR 2015",
      .cost = "O(T D) time and memory",
      .golden = "rev_triplet",
      .miner = "distance_weighted"};
  using Options = TripletOptions;

  explicit TripletLoss(Options options) : options_(std::move(options)) {}

  std::vector<int64_t> tuple_widths() const override { return {3}; }

  LossOutput forward(const LossInput& input) const override {
    const std::vector<Tensor> distance = tuple_distances(
        input.embeddings, input.tuples, {{0, 1}, {0, 2}}, options_.squared);
    const Tensor terms =
        (distance[0] - distance[1] + options_.margin).relu();  // [T]
    const Tensor mean = hinge_mean(terms, options_.reduction == "active");
    return {keep_bad_visible(mean, input.embeddings), {}};
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "triplet", TripletLoss);

}  // namespace kith
