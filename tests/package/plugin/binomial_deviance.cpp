#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/ops/pairwise.h"

namespace kith {
namespace {

struct BinomialDevianceOptions {
  double alpha = 2;
  double base = 0.5;
  double cost = 25;

  void describe(OptionSet& set) {
    set.add("alpha", alpha, "Sharpness.").positive();
    set.add("base", base, "Similarity that divides near from far.");
    set.add("cost", cost, "Sharpness of negatives, times alpha.").positive();
  }
};

/// Binomial deviance (Yi, Lei & Li, 2014) over all pairs of the batch.
///
///     loss = mean over positives of log(1 + e^{-alpha (s - base)})
///          + mean over negatives of log(1 + e^{alpha cost (s - base)})
class BinomialDeviance final : public Loss {
 public:
  static constexpr const char* kSummary = "binomial deviance over all pairs";
  static constexpr PartFacts kFacts = {
      .formula =
          "loss = mean over positives of log(1 + e^{-alpha (s - base)})\n"
          "     + mean over negatives of log(1 + e^{alpha cost (s - base)})",
      .source = "Yi, Lei & Li, 2014",
      .cost = "O(M^2 D) time, O(M^2) memory"};
  using Options = BinomialDevianceOptions;

  explicit BinomialDeviance(const Options& options = {})
      : options_(checked(options, "binomial_deviance")) {}

 protected:
  LossOutput forward(const LossInput& input) const override {
    const Tensor& x = input.embeddings;                    // [M, D]
    const Tensor s = torch::mm(x, x.t()) - options_.base;  // [M, M]
    const Tensor positive = torch::softplus(-options_.alpha * s);
    const Tensor negative = torch::softplus(options_.alpha * options_.cost * s);
    return {mean_where(positive, positive_mask(input.labels)) +
                mean_where(negative, negative_mask(input.labels)),
            {}};
  }

 private:
  /// Zero, but connected to the embeddings, where there is no such pair.
  static Tensor mean_where(const Tensor& terms, const Tensor& mask) {
    return (terms * mask).sum() / mask.sum().clamp_min(1);
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "binomial_deviance", BinomialDeviance);

}  // namespace kith
