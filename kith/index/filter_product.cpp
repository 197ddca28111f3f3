#include "kith/index/filter_product.h"

#include <algorithm>

#include <torch/torch.h>

#include "kith/core/torch_compat.h"
#include "kith/index/products.h"
#include "kith/ops/bf16_product.h"
#include "kith/ops/gpu.h"

namespace kith {
namespace {

/// Below, a product is bound by writing its result, in either type.
constexpr int64_t kLeastDim = 32;
/// Of fewer queries, splitting the items takes longer than it saves.
constexpr int64_t kLeastQueries = 512;

/// x = high + low + rest, exactly: each difference has fewer bits than x.
struct SplitParts {
  Tensor high;  ///< bfloat16
  Tensor low;   ///< bfloat16
  Tensor rest;  ///< float32

  explicit SplitParts(const Tensor& x) : high(x.to(at::kBFloat16)) {
    const Tensor left = x - high;
    low = left.to(at::kBFloat16);
    rest = left - low;
  }
};

/// Calls visit(first, parts) for some rows at a time.
template <class Visit>
void for_split_parts(const Tensor& x, const Visit& visit) {
  constexpr int64_t kNumbers = int64_t{1} << 22;
  const int64_t step = std::max<int64_t>(kNumbers / x.size(1), 1);
  for (int64_t i = 0; i < x.size(0); i += step) {
    visit(i, SplitParts(x.slice(0, i, i + step)));
  }
}

enum class Side { kQuery, kItem };

/// Writes [low high high] or [high low high]. The small products come first:
/// they are added up before the sum is large and its rounding coarse.
void join_parts(const SplitParts& parts, Side side, Tensor joined) {
  const int64_t dim = parts.high.size(1);
  const auto put = [&](int64_t place, const Tensor& part) {
    joined.narrow(1, place * dim, dim).copy_(part);
  };
  const int64_t low = side == Side::kQuery ? 0 : 1;
  put(low, parts.low);
  put(1 - low, parts.high);
  put(2, parts.high);
  if (joined.size(1) > 3 * dim) {
    joined.narrow(1, 3 * dim, joined.size(1) - 3 * dim).zero_();
  }
}

/// Lengths of low and of rest, [n, 2] in double.
Tensor left_lengths(const SplitParts& parts) {
  return torch::stack(
      {row_lengths(parts.low.to(at::kFloat)), row_lengths(parts.rest)}, 1);
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
  left_ = torch::empty({queries.size(0), 2}, lengths_.options());
  for_split_parts(queries, [&](int64_t first, const SplitParts& parts) {
    left_.narrow(0, first, parts.low.size(0)).copy_(left_lengths(parts));
  });
}

void FilterProduct::set_items(const Tensor& items, double longest) {
  if (!is_split_) {
    items_ = items;
    slack_ = (errors_ * longest).to(at::kFloat).contiguous();
    return;
  }
  items_ = Tensor();  // before there are others: they may be half of the memory
  items_ = torch::empty({items.size(0), split_width(items.size(1))},
                        items.options().dtype(at::kBFloat16));
  Tensor most_left = torch::zeros({2}, lengths_.options());
  for_split_parts(items, [&](int64_t first, const SplitParts& parts) {
    join_parts(parts, Side::kItem, items_.narrow(0, first, parts.low.size(0)));
    most_left = torch::maximum(most_left, left_lengths(parts).amax(0));
  });
  slack_ = split_slack(lengths_, left_, longest, most_left, items.size(1));
}

Tensor FilterProduct::operand(int64_t first, int64_t last) const {
  const Tensor x = queries_.slice(0, first, last);
  if (!is_split_) return x;
  Tensor joined = torch::empty({x.size(0), split_width(x.size(1))},
                               x.options().dtype(at::kBFloat16));
  join_parts(SplitParts(x), Side::kQuery, joined);
  return joined;
}

void FilterProduct::multiply(Tensor& to, const Tensor& operand, int64_t first,
                             int64_t last) const {
  const Tensor items = items_.slice(0, first, last).t();
  if (is_split_) {
    multiply_bf16(to, operand, items);
  } else {
    at::mm_out(to, operand, items);
  }
}

bool split_is_faster(c10::Device device, int64_t queries, int64_t dim) {
  return KITH_TORCH_AT_LEAST(2, 8) && device.is_cuda() && dim >= kLeastDim &&
         queries >= kLeastQueries && has_bf16_products(device.index());
}

}  // namespace kith
