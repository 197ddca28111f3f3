#include "kith/losses/snr.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/losses/reduction.h"
#include "kith/ops/known_gradient.h"
#include "kith/ops/snr.h"
#include "kith/ops/tuples.h"

namespace kith {
namespace {

/// What the sum over triplets is divided by.
Tensor snr_divisor(const Tensor& active, bool active_only) {
  if (active_only) return active.sum().clamp_min(1);
  return torch::full({}, std::max<int64_t>(active.size(0), 1),
                     active.options().dtype(at::kLong));
}

/// With c the centred embeddings, and w the weight of a triplet in the mean,
///
///     l = (|c_a - c_p|^2 - |c_a - c_n|^2) / |c_a|^2 + margin
///     dl/dc_a = 2 (c_n - c_p) / |c_a|^2 - 2 (l - margin) c_a / |c_a|^2
///     dl/dc_p = -2 (c_a - c_p) / |c_a|^2
///     dl/dc_n =  2 (c_a - c_n) / |c_a|^2
std::pair<Tensor, Tensor> snr_by_embeddings(const Tensor& x,
                                            const Tensor& tuples,
                                            const SnrOptions& options) {
  const at::NoGradGuard no_grad;
  const SnrRows rows = snr_rows(x);
  const Tensor anchor = tuples.select(1, 0).contiguous();
  const Tensor positive = tuples.select(1, 1).contiguous();
  const Tensor negative = tuples.select(1, 2).contiguous();
  const Tensor a = rows.centred.index_select(0, anchor);  // [T, D]
  const Tensor to_positive = a - rows.centred.index_select(0, positive);
  const Tensor to_negative = a - rows.centred.index_select(0, negative);
  const Tensor inverse = rows.inverse.index_select(0, anchor);  // [T]
  const Tensor ratio =
      (to_positive.square().sum(1) - to_negative.square().sum(1)).mul_(inverse);
  const Tensor active =
      (ratio > -options.margin)
          .logical_and_(rows.flat.index_select(0, anchor).logical_not_());
  const Tensor weight =
      active.to(x.scalar_type()) /
      snr_divisor(active, options.reduction == "active");  // [T]
  Tensor value = ((ratio + options.margin) * weight).sum();

  const Tensor scale = (weight * inverse).mul_(2).unsqueeze(1);  // [T, 1]
  Tensor gradient = torch::zeros_like(x);
  gradient.index_add_(
      0, anchor,
      (to_positive - to_negative).addcmul_(a, ratio.unsqueeze(1), -1) * scale);
  gradient.index_add_(0, positive, to_positive * scale, /*alpha=*/-1);
  gradient.index_add_(0, negative, to_negative * scale);
  gradient.div_(rows.scale);
  gradient.sub_(gradient.mean(1, /*keepdim=*/true));  // of the centring
  if (options.reg > 0) {
    const double share =
        options.reg / static_cast<double>(std::max<int64_t>(anchor.size(0), 1));
    const Tensor level = rows.mean.index_select(0, anchor);
    value.add_(level.abs().sum(), share * static_cast<double>(x.size(1)));
    gradient.index_add_(0, anchor, level.sign().unsqueeze(1).expand_as(a),
                        /*alpha=*/share);
  }
  return {value, gradient};
}

}  // namespace

const char* const Snr::kSummary =
    "triplet on signal-to-noise ratios (Yuan et al., CVPR 2019)";

const PartFacts Snr::kFacts = {
    .formula =
        "snr_ij = var(x_i - x_j) / var(x_i), over the coordinates\n"
        "l(a,p,n) = [snr_ap - snr_an + margin]+\n"
        "loss = mean over triplets with a term above zero\n"
        "     + reg * mean over triplets of |sum_m x_am|",
    .source = "Yuan et al., CVPR 2019",
    .cost = "O((T + M) D) time and memory",
    .golden = "rev_snr"};

void SnrOptions::describe(OptionSet& set) {
  set.add("margin", margin,
          "How much farther than the positive the negative should be.");
  set.add("reg", reg,
          "Weight of the mean |sum of coordinates| of anchors; 0 in a "
          "training with distance_weighted or rho_distance, unless it is "
          "set, as in the published study's code.")
      .range(0);
  describe_reduction(set, reduction, "triplets");
}

Snr::Snr(Options options) : options_(checked(std::move(options), "snr")) {}

LossOutput Snr::forward(const LossInput& input) const {
  require_tuples(input.tuples);
  const Tensor& x = input.embeddings;
  const auto [value, gradient] =
      snr_by_embeddings(x.detach(), input.tuples, options_);
  return {keep_bad_visible(known_gradient(value, {x}, {gradient}), x), {}};
}

KITH_REGISTER(loss_registry(), "snr", Snr);

}  // namespace kith
