#include "kith/ops/snr.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/ops/tuples.h"

namespace kith {
namespace {

struct SnrOptions {
  double margin = 0.2;
  double reg = 0.005;
  std::string reduction = "active";

  void describe(OptionSet& set) {
    set.add("margin", margin,
            "How much farther than the positive the negative should be.");
    set.add("reg", reg,
            "Weight of the mean |sum of coordinates| of anchors; 0 in a "
            "training with distance_weighted or rho_distance, unless it is "
            "set, as in the published study's code.")
        .range(0);
    set.add("reduction", reduction,
            "Mean over all triplets, or over the active ones (with a positive "
            "term).")
        .choices({"all", "active"});
  }
};

/// Triplet loss on signal-to-noise ratios (Yuan et al., CVPR 2019).
///
///     snr_ij = var(x_i - x_j) / var(x_i), over the coordinates
///     l(a,p,n) = [snr_ap - snr_an + margin]+
///     loss = mean l + reg * mean |sum_m x_am|
///
/// A triplet whose anchor has no variance has no ratio and no term. Columns are
/// used as they are given, whatever the labels. O((T + M) D) time and memory.
class SnrLoss final : public Loss {
 public:
  static constexpr const char* kSummary =
      "triplet on signal-to-noise ratios (Yuan et al., CVPR 2019)";
  static constexpr PartFacts kFacts = {
      .formula =
          "snr_ij = var(x_i - x_j) / var(x_i), over the coordinates\n"
          "l(a,p,n) = [snr_ap - snr_an + margin]+\n"
          "loss = mean over triplets with a term above zero\n"
          "     + reg * mean over triplets of |sum_m x_am|",
      .source = "Yuan et al., CVPR 2019",
      .cost = "O((T + M) D) time and memory",
      .golden = "rev_snr",
      .miner = "distance_weighted"};
  using Options = SnrOptions;

  explicit SnrLoss(Options options) : options_(std::move(options)) {}

  std::vector<int64_t> tuple_widths() const override { return {3}; }

  LossOutput forward(const LossInput& input) const override {
    const SnrRows rows = snr_rows(input.embeddings);
    const std::vector<Tensor> distance = tuple_distances(
        rows.centred, input.tuples, {{0, 1}, {0, 2}}, /*squared=*/true);
    const Tensor anchor = input.tuples.select(1, 0);
    const Tensor terms =
        ((distance[0] - distance[1]) * rows.inverse.index_select(0, anchor) +
         options_.margin)
            .relu()
            .masked_fill(rows.flat.index_select(0, anchor), 0);  // [T]
    Tensor value = hinge_mean(terms, options_.reduction == "active");
    if (options_.reg > 0) value = value + penalty(rows, anchor, input);
    return {keep_bad_visible(value, input.embeddings), {}};
  }

 private:
  Tensor penalty(const SnrRows& rows, const Tensor& anchor,
                 const LossInput& input) const {
    const auto dim = static_cast<double>(input.embeddings.size(1));
    const auto count =
        static_cast<double>(std::max<int64_t>(anchor.size(0), 1));
    return rows.mean.index_select(0, anchor).abs().sum() *
           (options_.reg * dim / count);
  }

  Options options_;
};

}  // namespace

KITH_REGISTER(loss_registry(), "snr", SnrLoss);

}  // namespace kith
