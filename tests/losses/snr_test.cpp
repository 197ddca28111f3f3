#include "kith/losses/snr.h"

#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

// var over the coordinates, up to a factor of 1/2: a (3, -1): 8; a - p =
// (0, -2): 2; a - n = (2, 0): 2; a - far = (6, -2): 32. The sum of a is 2.
LossInput four_points() {
  LossInput input;
  input.embeddings =
      torch::tensor({3., -1., 3., 1., 1., -1., -3., 1.}, torch::kDouble)
          .view({4, 2});
  input.labels = labels_of({0, 0, 1, 1});
  input.tuples = labels_of({0, 1, 2, 0, 1, 3}).view({2, 3});
  return input;
}

LossGradient run_snr(const SnrOptions& options, const LossInput& input) {
  return differentiate(Snr(options), input);
}

TEST(SnrLoss, IsTheMeanOverActiveTriplets) {
  EXPECT_DOUBLE_EQ(run_snr({.reg = 0}, four_points()).value, 0.2);
  EXPECT_DOUBLE_EQ(run_snr({.reg = 0, .reduction = "all"}, four_points()).value,
                   0.1);
  // 2/8 - 2/8 and 2/8 - 32/8.
  EXPECT_DOUBLE_EQ(run_snr({.margin = 4, .reg = 0}, four_points()).value,
                   (4 + 0.25) / 2);
}

TEST(SnrLoss, KeepsSumsOfAnchorsSmall) {
  EXPECT_DOUBLE_EQ(run_snr({}, four_points()).value, 0.2 + 0.005 * 2);
  LossInput input = four_points();
  input.tuples = labels_of({0, 1, 3, 3, 2, 0}).view({2, 3});
  // Anchors with sums 2 and -2; 3: 8 - 32 over 32.
  EXPECT_DOUBLE_EQ(run_snr({.margin = 0, .reg = 1}, input).value, 2);
}

TEST(SnrLoss, AnAnchorWithoutVarianceHasNoTerm) {
  LossInput input = four_points();
  input.embeddings[0] = 0.3;
  const LossGradient result = run_snr({.reg = 0}, input);
  EXPECT_EQ(result.value, 0);
  EXPECT_EQ(result.gradient.abs().sum().item<double>(), 0);
}

TEST(SnrLoss, NothingActiveGivesZero) {
  LossInput input = four_points();
  input.tuples = labels_of({0, 1, 3}).view({1, 3});
  EXPECT_EQ(run_snr({.reg = 0}, input).value, 0);
  input.tuples = input.tuples.slice(0, 0, 0);
  const LossGradient result = run_snr({}, input);
  EXPECT_EQ(result.value, 0);
  EXPECT_TRUE(result.connected);
}

}  // namespace
}  // namespace kith
