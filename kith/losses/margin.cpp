#include <torch/torch.h>

#include "kith/losses/margin_beta.h"
#include "kith/ops/tuples.h"

namespace kith {
namespace {

struct MarginLossOptions : MarginOptions {
  std::string count = "pairs";

  void describe(OptionSet& set) {
    MarginOptions::describe(set);
    set.add("count", count,
            "What is counted where it has a positive term, for the mean: "
            "pairs, or triplets as in the published study's code.")
        .choices({"pairs", "triplets"});
  }
};

/// Margin loss (Wu et al., ICCV 2017) on given triplets; `margin_all` takes all
/// of the batch.
///
///     l(a,p) = [D_ap - beta + margin]+
///     l(a,n) = [beta - D_an + margin]+
///     loss = sum / number of pairs with a term above zero
///
/// beta is learnt, one for all or one for each class of the anchor. D is the
/// Euclidean distance. Columns are used as they are given; labels only choose
/// beta. O(T D) time.
class MarginLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "margin with a learnt boundary (Wu et al., ICCV 2017), given triplets";
  static constexpr PartFacts kFacts = {
      .formula =
          "l(a,p) = [D_ap - beta + margin]+\n"
          "l(a,n) = [beta - D_an + margin]+\n"
          "loss = sum / number of pairs with a term above zero\n"
          "     + nu beta (per class: nu sum over triplets of beta_a, divided "
          "likewise)",
      .source = "Wu et al., ICCV 2017",
      .cost = "O(T D) time and memory",
      .golden = "rev_margin",
      .miner = "distance_weighted"};
  using Options = MarginLossOptions;

  MarginLoss(Options options, const LossContext& context)
      : options_(std::move(options)), beta_(options_, context) {
    if (beta_.parameter().defined()) {
      register_parameter("beta", beta_.parameter());
    }
  }

  std::vector<int64_t> tuple_widths() const override { return {3}; }
  double parameter_lr(const std::string&) const override { return options_.lr; }
  bool decays_parameters() const override { return options_.decay; }
  int64_t classes() const override { return beta_.classes(); }

  LossOutput forward(const LossInput& input) const override {
    const std::vector<Tensor> distance =
        tuple_distances(input.embeddings, input.tuples, {{0, 1}, {0, 2}});
    const Tensor beta = beta_of_anchors(input);
    const Tensor positive = (distance[0] - beta + options_.margin).relu();
    const Tensor negative = (beta - distance[1] + options_.margin).relu();
    const Tensor terms = positive + negative;  // [T]
    const Tensor count = options_.count == "pairs"
                             ? (positive > 0).sum() + (negative > 0).sum()
                             : (terms > 0).sum();
    Tensor value = terms.sum() / count.clamp_min(1);
    if (beta_.has_penalty()) {
      value = value + beta_.penalty(beta, torch::ones_like(terms), count);
    }
    return {keep_bad_visible(value, input.embeddings), {}};
  }

 private:
  Tensor beta_of_anchors(const LossInput& input) const {
    if (beta_.classes() == 0) return beta_.of({}, input.embeddings);
    return beta_.of(input.labels.index_select(0, input.tuples.select(1, 0)),
                    input.embeddings);
  }

  Options options_;
  MarginBeta beta_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "margin", MarginLoss);

}  // namespace kith
