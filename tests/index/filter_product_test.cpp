#include "kith/index/filter_product.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/index/products.h"
#include "kith/ops/pairwise.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

struct FilterCase {
  std::string name;
  Tensor queries;
  Tensor items;
};

/// 1 + 2^-8 - 2^-23 and the like: all of a number but 8 bits is in low, and all
/// of low but 8 bits in rest.
Tensor unkind_numbers(int64_t rows, int64_t dim) {
  const Tensor left =
      torch::rand({rows, dim}).mul_(0x1p-16F).neg_().add_(0x1p-8F);
  return left.add_(1);
}

/// Rows that are hard to split, or whose products are hard to add up.
std::vector<FilterCase> filter_cases(int64_t n, int64_t m, int64_t dim) {
  torch::manual_seed(static_cast<uint64_t>(dim));
  const Tensor x = torch::randn({n, dim});
  const Tensor y = torch::randn({m, dim});
  const auto lengths = [](int64_t rows) {
    return torch::logspace(-12, 12, rows, 10, at::kDouble)
        .to(at::kFloat)
        .unsqueeze(1);
  };
  const Tensor unit = normalize_rows(x);
  const Tensor unit_items = normalize_rows(y);
  // Numbers that bfloat16 and float32 hold with fewer bits, or not at all.
  Tensor sparse = torch::full({n, dim}, 1e-40F);
  sparse.select(1, 0).fill_(3e-15F);
  return {{"random", x, y},
          {"positive", x.abs(), y.abs()},
          {"unkind", unkind_numbers(n, dim), unkind_numbers(m, dim)},
          {"unkind with signs", unkind_numbers(n, dim) * x.sign(),
           unkind_numbers(m, dim) * y.sign()},
          {"all lengths", unit * lengths(n), unit_items * lengths(m)},
          {"short", unit * 2e-15F, unit_items * 3e-15F},
          {"long", unit * 9e14F, unit_items * 8e14F},
          {"copies", unit.slice(0, 0, 1).expand({n, dim}).contiguous(), unit},
          {"vanishing", sparse, sparse},
          {"zeros", torch::zeros({n, dim}), y}};
}

/// The largest error of a similarity, as a share of the slack.
double share_of_slack(const FilterCase& each, at::Device device) {
  const Tensor x = each.queries.to(device);
  const Tensor y = each.items.to(device);
  FilterProduct product(x, /*is_split=*/true);
  product.set_items(y, longest_row(y, "item", 0));
  Tensor s = torch::empty({x.size(0), y.size(0)}, x.options());
  // In two parts, as it is used.
  const int64_t half = x.size(0) / 2;
  for (const auto& [first, last] :
       {std::pair{int64_t{0}, half}, std::pair{half, x.size(0)}}) {
    Tensor part = s.slice(0, first, last);
    product.multiply(part, product.operand(first, last), 0, y.size(0));
  }
  const Tensor exact =
      torch::mm(each.queries.to(at::kDouble), each.items.to(at::kDouble).t());
  const Tensor error = (s.cpu().to(at::kDouble) - exact).abs();
  const Tensor slack = product.slack().cpu().to(at::kDouble).unsqueeze(1);
  EXPECT_TRUE(s.isfinite().all().item<bool>());
  EXPECT_EQ(product.slack().sizes(), (std::vector<int64_t>{x.size(0)}));
  return (error / slack).max().item<double>();
}

class FilterProductOf : public ::testing::TestWithParam<int64_t> {};

TEST_P(FilterProductOf, SplitRowsIsWithinItsSlack) {
  for (const FilterCase& each : filter_cases(40, 50, GetParam())) {
    EXPECT_LT(share_of_slack(each, at::kCPU), 1) << each.name;
  }
}

TEST_P(FilterProductOf, SplitRowsIsWithinItsSlackOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  for (const FilterCase& each : filter_cases(600, 700, GetParam())) {
    EXPECT_LT(share_of_slack(each, at::kCUDA), 1) << each.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Dims, FilterProductOf,
                         ::testing::Values(1, 7, 8, 33, 512, 2048));

// What the split leaves out is most of the slack of rows that leave out most:
// without it the slack would be too small.
TEST(FilterProduct, SlackHasWhatTheSplitLeavesOut) {
  const FilterCase unkind{"unkind", unkind_numbers(4, 8), unkind_numbers(4, 8)};
  EXPECT_GT(share_of_slack(unkind, at::kCPU), 0.5);
}

TEST(FilterProduct, SlackOfUnitRowsIsSmall) {
  const Tensor x = normalize_rows(random_normal({20, 512}, 1, at::kFloat));
  FilterProduct product(x, /*is_split=*/true);
  product.set_items(x, 1);
  EXPECT_LT(product.slack().max().item<double>(), 1e-4);
}

TEST(FilterProduct, IsInFloat32OnTheCpu) {
  EXPECT_FALSE(split_is_faster(at::kCPU, 100'000, 512));
  const Tensor x = torch::randn({20, 64});
  FilterProduct product(x);
  product.set_items(x, longest_row(x, "item", 0));
  Tensor s = torch::empty({20, 20});
  product.multiply(s, product.operand(0, 20), 0, 20);
  EXPECT_TRUE(torch::equal(s, torch::mm(x, x.t())));
}

}  // namespace
}  // namespace kith
