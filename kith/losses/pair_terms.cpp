#include "kith/losses/pair_terms.h"

#include <cmath>
#include <limits>

#include <torch/torch.h>

#include "kith/losses/rows/nt_xent.h"
#include "kith/ops/known_gradient.h"
#include "kith/ops/row_engine.h"

namespace kith {
namespace {

Tensor next_of_class(const Tensor& labels) {
  const SortedSet sorted = sort_by_label(labels);
  const ClassRanges ranges = class_ranges(sorted.labels, sorted.labels);
  const Tensor place = torch::arange(labels.size(0), labels.options());
  const Tensor next =
      torch::where(place + 1 < ranges.last, place + 1, ranges.first);
  const Tensor paired = (next != place).nonzero().flatten();
  return torch::stack(
      {sorted.order.index_select(0, paired),
       sorted.order.index_select(0, next.index_select(0, paired))},
      1);
}

/// Sums of the angular terms and of their gradients over pairs, which are taken
/// in chunk by chunk.
class AngularSum {
 public:
  AngularSum(const Tensor& x, const Tensor& y, const Tensor& labels,
             double degrees, bool with_gradient)
      : x_(x.detach()),
        y_(y.detach()),
        labels_(labels),
        with_gradient_(with_gradient),
        value_(torch::zeros({}, x_.options())) {
    constexpr double kDegree = 3.14159265358979323846 / 180;
    const double tangent = std::tan(degrees * kDegree);
    negative_ = 4 * tangent * tangent;
    positive_ = 2 * (1 + tangent * tangent);
    if (!with_gradient) return;
    dx_ = torch::zeros_like(x_);
    dy_ = torch::zeros_like(y_);
  }

  void add(const Tensor& pairs) {
    const Tensor anchor = pairs.select(1, 0).contiguous();
    const Tensor positive = pairs.select(1, 1).contiguous();
    const Tensor xa = x_.index_select(0, anchor);
    const Tensor xp = x_.index_select(0, positive);
    const Tensor sum = xa + xp;  // [T, D]
    const Tensor level = (xa * xp).sum(1, /*keepdim=*/true);
    // The exponents, -inf where the column is no negative.           [T, M]
    Tensor f = torch::addmm(level, sum, y_.t(), -positive_, negative_);
    const Tensor label = labels_.index_select(0, anchor).unsqueeze(1);
    f.masked_fill_(label == labels_, -std::numeric_limits<double>::infinity());
    // The 1 of the logarithm is an exponent of 0.
    const Tensor top = f.amax(1, /*keepdim=*/true).clamp_min(0);
    f.sub_(top).exp_();
    const Tensor one = top.neg().exp();
    const Tensor total = f.sum(1, /*keepdim=*/true) + one;
    value_ += (top + total.log()).sum();
    if (!with_gradient_) return;
    const Tensor weight = f.div_(total);  // dl/df
    const Tensor dsum = torch::mm(weight, y_) * negative_;
    const Tensor dlevel = (one / total - 1) * positive_;
    dx_.index_add_(0, anchor, torch::addcmul(dsum, dlevel, xp));
    dx_.index_add_(0, positive, torch::addcmul(dsum, dlevel, xa));
    dy_.addmm_(weight.t(), sum, 1, negative_);
  }

  /// The mean over `count` terms as a differentiable function.
  Tensor mean(const Tensor& x, const Tensor& y, int64_t count) const {
    const auto n = static_cast<double>(count);
    if (!with_gradient_) return value_ / n;
    return known_gradient(value_ / n, {x, y}, {dx_ / n, dy_ / n});
  }

 private:
  Tensor x_, y_, labels_;
  bool with_gradient_;
  double negative_ = 0;  ///< Factor of (x_a + x_p).y_n
  double positive_ = 0;  ///< and of -x_a.x_p.
  Tensor value_, dx_, dy_;
};

}  // namespace

Tensor anchor_pairs(const LossInput& input, const char* loss) {
  if (!input.tuples.defined()) return next_of_class(input.labels);
  const Tensor pairs = input.tuples.slice(1, 0, 2);
  const auto label = [&](int64_t column) {
    return input.labels.index_select(0, pairs.select(1, column));
  };
  TORCH_CHECK_VALUE((label(0) == label(1)).all().item<bool>(), loss,
                    " needs positives in the second column of the tuples: an "
                    "anchor and its positive must have the same label");
  return pairs;
}

Tensor npair_mean(const LossInput& input, const Tensor& pairs,
                  const RowLimits& limits) {
  RowInput rows;
  rows.self = pairs.select(1, 0).contiguous();
  rows.target = pairs.select(1, 1).contiguous();
  rows.rows = input.embeddings.index_select(0, rows.self);
  rows.row_labels = input.labels.index_select(0, rows.self);
  rows.columns = input.embeddings;
  rows.column_labels = input.labels;
  const NtXentParams params{.temperature = 1};
  return differentiable_rows(make_row_loss(params), rows, limits).value;
}

Tensor angular_mean(const Tensor& x, const Tensor& y, const Tensor& labels,
                    const Tensor& pairs, double degrees) {
  // Nothing else would see what is not a number.
  if (pairs.size(0) == 0) return x.sum() * 0 + y.sum() * 0;
  const bool with_gradient =
      at::GradMode::is_enabled() && (x.requires_grad() || y.requires_grad());
  AngularSum sum(x, y, labels, degrees, with_gradient);
  {
    const at::NoGradGuard no_grad;
    for (const Tensor& some : pairs.split(x.size(0))) sum.add(some);
  }
  return sum.mean(x, y, pairs.size(0));
}

}  // namespace kith
