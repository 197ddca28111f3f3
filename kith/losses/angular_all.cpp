#include <torch/torch.h>

#include "kith/losses/pair_terms.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

struct AngularAllOptions {
  double alpha = 40;
  bool unit_anchors = true;

  void describe(OptionSet& set) {
    set.add("alpha", alpha, "Largest angle at the negative, in degrees.")
        .range(0, 89);
    set.add("unit_anchors", unit_anchors,
            "Anchors and positives are made unit vectors; false: all "
            "embeddings are taken as they are.");
  }
};

/// Angular loss (Wang, Zhou, Wen, Liu & Lin, ICCV 2017) over all pairs of
/// positives, as pytorch-metric-learning computes it: anchors and positives are
/// normalised, x = e / |e|, and negatives are not. With t = tan(alpha)^2
///
///     l(a,p) = log(1 + sum_{n in N_a} e^{4 t (x_a + x_p).e_n
///                                        - 2 (1 + t) x_a.x_p})
///     loss = mean over ordered pairs of positives of l(a,p)
///
/// l(a,p) = l(p,a), so that half of the pairs are enough.
class AngularAllLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "angular over all pairs of positives (Wang et al., ICCV 2017)";
  static constexpr PartFacts kFacts = {
      .formula =
          "x = e / |e|, t = tan(alpha)^2\n"
          "l(a,p) = log(1 + sum_{n in N_a} e^{4 t (x_a + x_p).e_n - 2 (1 + t) "
          "x_a.x_p})\n"
          "loss = mean over ordered pairs of positives of l(a,p)",
      .source =
          "Wang, Zhou, Wen, Liu & Lin, ICCV 2017; negatives not "
          "normalised as in pytorch-metric-learning",
      .cost = "O(M^2 P D) time, P positives a row; O(M^2 + M D) memory",
      .golden = "pml_angular"};
  using Options = AngularAllOptions;

  explicit AngularAllLoss(Options options) : options_(options) {}

  bool wants_unit() const override { return false; }

  LossOutput forward(const LossInput& input) const override {
    const Tensor pairs = positive_mask(input.labels).triu_(1).nonzero();
    const Tensor& e = input.embeddings;
    const Tensor value =
        angular_mean(options_.unit_anchors ? normalize_rows(e) : e, e,
                     input.labels, pairs, options_.alpha);
    return {value, {{"pairs", 2 * static_cast<double>(pairs.size(0))}}};
  }

 private:
  Options options_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "angular_all", AngularAllLoss);

}  // namespace kith
