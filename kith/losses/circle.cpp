#include "kith/losses/rows/circle.h"

#include "kith/losses/row_loss.h"

namespace kith {
namespace {

struct CircleOptions : MixedRowOptions {
  double m = 0.4;
  double gamma = 80;
  bool detach = true;

  void describe(OptionSet& set) {
    set.add("m", m, "Margin.");
    set.add("gamma", gamma, "Scale.").positive();
    set.add("detach", detach,
            "Take the weights of the pairs as constants in the gradient, as "
            "published.");
    MixedRowOptions::describe(set);
  }
};

/// Circle loss (Sun et al., CVPR 2020), as pytorch-metric-learning computes it.
///
///     l(a) = softplus(log sum_p e^{-gamma [1 + m - s_p]+ (s_p - (1 - m))}
///                   + log sum_n e^{gamma [s_n + m]+ (s_n - m)})
///
/// The brackets are weights: with `detach` they are constants in the gradient,
/// which then is not the derivative of the value. Mean over the anchors with a
/// value above zero; one without positives or negatives has none.
class CircleLoss final : public Loss {
 public:
  static constexpr const char* kSummary = "circle loss (Sun et al., CVPR 2020)";
  static constexpr PartFacts kFacts = {
      .formula =
          "l(a) = softplus(\n"
          "    log sum_{p in P_a} e^{-gamma [1 + m - s_ap]+ (s_ap - (1 - m))}\n"
          "  + log sum_{n in N_a} e^{gamma [s_an + m]+ (s_an - m)})\n"
          "loss = mean over the anchors with a value above zero; with detach "
          "the brackets are constants in the gradient",
      .source = "Sun, Cheng, Zhang, Zhang, Zheng, Wang & Wei, CVPR 2020",
      .cost = "O(M^2 D) time; memory_mb and O(M D) memory",
      .golden = "pml_circle"};
  using Options = CircleOptions;

  explicit CircleLoss(Options options) : options_(std::move(options)) {
    params_ = {options_.m, options_.gamma, options_.detach};
  }

  LossOutput forward(const LossInput& input) const override {
    const RowLoss loss = make_row_loss(params_);
    return compute_rows(loss, input, options_, "anchors");
  }

  bool takes_mixed() const override { return true; }
  bool takes_database() const override { return true; }

  bool gradient_is_derivative() const override { return !options_.detach; }

 private:
  Options options_;
  CircleParams params_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "circle", CircleLoss);

}  // namespace kith
