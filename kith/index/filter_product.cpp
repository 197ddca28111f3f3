#include "kith/index/filter_product.h"

#include <c10/core/DeviceGuard.h>
#include <torch/torch.h>

#include "kith/core/torch_compat.h"
#include "kith/index/products.h"
#include "kith/ops/gpu.h"
#include "kith/ops/half_product.h"
#include "kith/ops/split_kernels.h"

namespace kith {
namespace {

/// Below, a product is bound by writing its result, in either type.
constexpr int64_t kLeastDim = 32;
/// Of fewer queries, splitting the items takes longer than it saves.
constexpr int64_t kLeastQueries = 512;

/// What split() writes: either may be undefined.
struct SplitRows {
  Tensor joined;  ///< [n, split_width(D)] bfloat16
  Tensor left;    ///< [n, 2] lengths of low and rest in double
};

enum class Side { kQuery, kItem };

/// Splits rows. The products with a low part come first, [low high high]
/// [high low high]^T: they are added up before the sum is large and its
/// rounding coarse.
void split(const Tensor& x, Side side, const SplitRows& to) {
  SplitBlock block;
  block.x = x.data_ptr<float>();
  block.dim = x.size(1);
  block.width = split_width(block.dim);
  block.low_first = side == Side::kQuery;
  if (to.joined.defined()) {
    block.joined = static_cast<Bf16*>(to.joined.data_ptr());
  }
  if (to.left.defined()) block.left = to.left.data_ptr<double>();
  if (x.is_cuda()) {
    const c10::DeviceGuard guard(x.device());
    split_on_cuda(block, {0, x.size(0), current_stream()});
  } else {
    split_on_cpu(block, {0, x.size(0), nullptr});
  }
}

Tensor empty_joined(const Tensor& x) {
  return torch::empty({x.size(0), split_width(x.size(1))},
                      x.options().dtype(at::kBFloat16));
}

Tensor empty_left(const Tensor& x) {
  return torch::empty({x.size(0), 2}, x.options().dtype(at::kDouble));
}

/// [Q] slack of split rows: `lengths` [Q] and `left` [Q, 2] of the queries, and
/// the largest of the items.
///
/// With u = high + low = x - rest the split leaves out
///   x . y - (u . u' - low . low')  =  rest . y + u . rest' + low . low',
/// by Cauchy and Schwarz at most |rest| |y| + |x| |rest'| + |low| |low'|, with
/// 1% for |u| above |x|.
///
/// A tensor core adds 8 or 16 products to a sum at a time: it shifts all to the
/// exponent of the largest, cuts off what is behind, and cuts the new sum to 24
/// bits. In units of 2^-24 of the largest the first costs less than 1 a number
/// (compute capability 8, 8 products) or 1/2 (9 and later, 16), the second less
/// than 2 a sum (Fasi et al., Numerical behavior of NVIDIA tensor cores, 2021):
/// 11 / 8 units a product, or 21 / 32. No sum is above (|high| + |low|)
/// (|high'| + |low'|), less than 1.02 |x| |y|. The 2 D products with a low part
/// come first, at 1/128 of the units, so the D others count (8): 1.4 D units;
/// or all 3 D, in any order (9): 2 D units. Four more, doubled, for the
/// rounding of the exact value and of bounds, as in product_errors().
///
/// Of products below the least normal number all may be lost.
Tensor split_slack(const Tensor& lengths, const Tensor& left, double longest,
                   const Tensor& most_left, int64_t dim) {
  constexpr double kUnit = 0x1p-24;
  constexpr double kLeastNormal = 0x1p-126;
  const auto d = static_cast<double>(dim);
  const Tensor low = left.select(1, 0) * most_left.select(0, 0);
  const Tensor rest =
      left.select(1, 1) * longest + lengths * most_left.select(0, 1);
  const Tensor sum = lengths * (1.03 * kUnit * (2 * d + 8) * longest);
  return (sum + 1.01 * (low + rest) + 8 * d * kLeastNormal).to(at::kFloat);
}

}  // namespace

FilterProduct::FilterProduct(const Tensor& queries)
    : FilterProduct(queries, split_is_faster(queries.device(), queries.size(0),
                                             queries.size(1))) {}

FilterProduct::FilterProduct(const Tensor& queries, bool is_split)
    : is_split_(is_split), queries_(queries) {
  if (!is_split) {
    errors_ = product_errors(queries);
    return;
  }
  lengths_ = row_lengths(queries);
  left_ = empty_left(queries);
  split(queries, Side::kQuery, {{}, left_});
}

void FilterProduct::set_items(const Tensor& items, double longest) {
  if (!is_split_) {
    items_ = items;
    slack_ = (errors_ * longest).to(at::kFloat).contiguous();
    return;
  }
  items_ = Tensor();  // before there are others: they may be half of the memory
  items_ = empty_joined(items);
  const Tensor left = empty_left(items);
  split(items, Side::kItem, {items_, left});
  slack_ = split_slack(lengths_, left_, longest, left.amax(0), items.size(1));
}

Tensor FilterProduct::operand(int64_t first, int64_t last) const {
  const Tensor x = queries_.slice(0, first, last);
  if (!is_split_) return x;
  const Tensor joined = empty_joined(x);
  split(x, Side::kQuery, {joined, {}});
  return joined;
}

void FilterProduct::multiply(Tensor& to, const Tensor& operand, int64_t first,
                             int64_t last) const {
  const Tensor items = items_.slice(0, first, last).t();
  if (is_split_) {
    multiply_halves(to, operand, items);
  } else {
    at::mm_out(to, operand, items);
  }
}

bool split_is_faster(c10::Device device, int64_t queries, int64_t dim) {
  return KITH_TORCH_AT_LEAST(2, 8) && device.is_cuda() && dim >= kLeastDim &&
         queries >= kLeastQueries && has_bf16_products(device.index());
}

}  // namespace kith
