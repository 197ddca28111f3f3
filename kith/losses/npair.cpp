#include <torch/torch.h>

#include "kith/losses/pair_terms.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

struct NpairOptions : RowOptions {
  double l2 = 0.005;
  std::string penalty = "squared_norm";

  void describe(OptionSet& set) {
    set.add("l2", l2, "Weight of the embeddings' norms.").range(0);
    set.add("penalty", penalty,
            "Mean of squared norms, or of norms as the published study's code.")
        .choices({"squared_norm", "norm"});
    RowOptions::describe(set);
  }
};

/// N-pair loss (Sohn, NeurIPS 2016) on the embeddings as they are.
///
///     l(a,p) = log(1 + sum_{n in N_a} e^{e_a.e_n - e_a.e_p})
///     loss = mean over tuples of l(a,p) + l2 * mean |e|^2
///
/// One positive an anchor comes with the tuples (a, p, ...); without tuples
/// each anchor takes the next example of its class in the batch.
class NpairLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "N-pair against all negatives of the batch (Sohn, NeurIPS 2016)";
  static constexpr PartFacts kFacts = {
      .formula =
          "l(a,p) = log(1 + sum_{n in N_a} e^{e_a.e_n - e_a.e_p})\n"
          "loss = mean over tuples of l(a,p), + l2 * mean |e|^2",
      .source = "Sohn, NeurIPS 2016",
      .cost = "O(T M D) time for T tuples; memory_mb and O((M + T) D) memory",
      .golden = "rev_npair"};
  using Options = NpairOptions;

  explicit NpairLoss(Options options) : options_(std::move(options)) {}

  std::vector<int64_t> tuple_widths() const override { return {2, 3}; }
  bool wants_unit() const override { return false; }
  bool depends_on_order() const override { return true; }

  LossOutput forward(const LossInput& input) const override {
    const Tensor pairs = anchor_pairs(input, "npair");
    const Tensor value = npair_mean(input, pairs, options_.limits());
    const Tensor penalty = norm_penalty(input.embeddings, options_.l2,
                                        options_.penalty == "squared_norm");
    return {value + penalty, {{"pairs", static_cast<double>(pairs.size(0))}}};
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "npair", NpairLoss);

}  // namespace kith
