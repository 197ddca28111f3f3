#include "kith/losses/margin_all.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/margin.h"
#include "kith/ops/pairwise.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

LossInput batch(const Tensor& labels, int64_t dim) {
  LossInput input;
  input.embeddings = normalize_rows(random_normal({labels.size(0), dim}, 1));
  input.labels = labels;
  return input;
}

/// Classes of 5, 2, none, 3 and 1.
Tensor mixed_labels() { return labels_of({3, 0, 0, 1, 3, 0, 4, 0, 1, 3, 0}); }

Tensor all_triplets(const Tensor& labels) {
  const int64_t m = labels.size(0);
  const int64_t* label = labels.data_ptr<int64_t>();
  std::vector<int64_t> all;
  for (int64_t a = 0; a < m; ++a) {
    for (int64_t p = 0; p < m; ++p) {
      for (int64_t n = 0; n < m; ++n) {
        if (p != a && label[p] == label[a] && label[n] != label[a]) {
          all.insert(all.end(), {a, p, n});
        }
      }
    }
  }
  return labels_of(all).view({-1, 3});
}

/// `margin_all` and, on the list of all triplets, `margin`.
void expect_agreement(const MarginAllOptions& options, const Tensor& beta) {
  LossContext context;
  if (beta.defined()) context.given = {{"beta", beta}};
  const MarginAll all(options, context);
  const Margin listed(
      {.beta = options.beta, .learn = options.learn, .nu = options.nu},
      context);
  LossInput input = batch(mixed_labels(), 4);
  const LossGradient fast = differentiate(all, input);
  input.tuples = all_triplets(input.labels);
  const LossGradient slow = differentiate(listed, input);
  EXPECT_NEAR(fast.value, slow.value, 1e-13);
  EXPECT_LE(max_difference(fast.gradient, slow.gradient), 1e-13);
  ASSERT_EQ(all.parameters().size(), listed.parameters().size());
  for (size_t i = 0; i < all.parameters().size(); ++i) {
    EXPECT_LE(max_difference(all.parameters()[i].grad(),
                             listed.parameters()[i].grad()),
              1e-13);
  }
}

TEST(MarginAllLoss, IsTheMarginLossOfAllTriplets) {
  const Tensor one = torch::tensor({1.1}, torch::kDouble);
  const Tensor each = torch::tensor({1.1, 1.3, 9., 0.9, 1.}, torch::kDouble);
  expect_agreement({.learn = false}, {});
  expect_agreement({.beta = 0.1, .learn = false}, {});  // below the margin
  expect_agreement({.learn = true}, one);
  expect_agreement({.learn = true, .nu = 0.3}, one);
  expect_agreement({.learn = true}, each);
  expect_agreement({.learn = true, .nu = 0.3}, each);
  expect_agreement({.learn = false}, each);
}

TEST(MarginAllLoss, BetaIsAConstantUnlessItIsLearnt) {
  EXPECT_TRUE(MarginAll().parameters().empty());
  const MarginAll loss({.learn = true});
  ASSERT_EQ(loss.parameters().size(), 1u);
  EXPECT_EQ(loss.parameter_lr("beta"), 5e-4);
}

TEST(MarginAllLoss, GradientsOfBetaAreDerivatives) {
  const LossInput input = batch(mixed_labels(), 4);
  const auto value_at = [&](const Tensor& beta, Tensor* gradient) {
    LossContext context;
    context.given = {{"beta", beta}};
    const MarginAll loss({.learn = true, .nu = 0.2}, context);
    const double value = differentiate(loss, input).value;
    if (gradient) *gradient = loss.parameters()[0].grad();
    return value;
  };
  const Tensor beta = torch::tensor({1.1, 1.3, 1., 0.9, 1.}, torch::kDouble);
  Tensor gradient;
  value_at(beta, &gradient);
  for (int64_t i = 0; i < beta.size(0); ++i) {
    Tensor step = torch::zeros_like(beta);
    step[i] = 1e-6;
    const double slope =
        (value_at(beta + step, nullptr) - value_at(beta - step, nullptr)) /
        2e-6;
    EXPECT_NEAR(slope, gradient[i].item<double>(), 1e-8);
  }
}

TEST(MarginAllLoss, NothingActiveGivesZero) {
  for (const auto& labels : {labels_of({0, 0, 0}), labels_of({0, 1, 2})}) {
    const MarginAll loss({.learn = true, .nu = 1});
    const LossGradient result = differentiate(loss, batch(labels, 4));
    EXPECT_EQ(result.value, 0);
    EXPECT_EQ(result.gradient.abs().sum().item<double>(), 0);
  }
}

}  // namespace
}  // namespace kith
