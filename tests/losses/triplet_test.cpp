#include "kith/losses/triplet.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/expect_error.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

// Four points on a line:    0 --- 0.5 ---- 1.25 --------- 3
//                         class A   A      class B        B
LossGradient run_triplet(const TripletOptions& options,
                         const std::vector<int64_t>& tuples) {
  LossInput input;
  input.embeddings =
      torch::tensor({0., 0.5, 1.25, 3.}, torch::kDouble).view({4, 1});
  input.labels = labels_of({0, 0, 1, 1});
  input.tuples = labels_of(tuples).view({-1, 3});
  return differentiate(Triplet(options), input);
}

// The first is at 0.5 - 1.25, the second at 1.75 - 0.75.
const std::vector<int64_t> kTriplets = {0, 1, 2, 2, 3, 1};

TEST(TripletLoss, IsTheMeanOverAllTriplets) {
  const LossGradient result = run_triplet({}, kTriplets);
  EXPECT_DOUBLE_EQ(result.value, 1.2 / 2);
  EXPECT_EQ(max_difference(result.gradient.flatten(),
                           torch::tensor({0., 0.5, -1., 0.5}, torch::kDouble)),
            0);
  EXPECT_DOUBLE_EQ(run_triplet({.margin = 1}, kTriplets).value, (0.25 + 2) / 2);
}

TEST(TripletLoss, CanBeTheMeanOverTheActive) {
  EXPECT_DOUBLE_EQ(run_triplet({.reduction = "active"}, kTriplets).value, 1.2);
}

TEST(TripletLoss, CanSquareDistances) {
  EXPECT_DOUBLE_EQ(run_triplet({.squared = true}, kTriplets).value,
                   (1.75 * 1.75 - 0.75 * 0.75 + 0.2) / 2);
}

/// Miners that push positives apart name the anchor as its positive and one of
/// its class as the negative.
TEST(TripletLoss, TakesColumnsWhateverTheLabels) {
  const LossGradient result = run_triplet({.margin = 1}, {0, 0, 1});
  EXPECT_DOUBLE_EQ(result.value, 0.5);
  EXPECT_EQ(max_difference(result.gradient.flatten(),
                           torch::tensor({1., -1., 0., 0.}, torch::kDouble)),
            0);
}

TEST(TripletLoss, NoTupleGivesZero) {
  const LossGradient result = run_triplet({}, {});
  EXPECT_EQ(result.value, 0);
  EXPECT_TRUE(result.connected);
  EXPECT_EQ(result.gradient.abs().sum().item<double>(), 0);
}

TEST(LossesOnTuples, RefuseABatchWithoutTuples) {
  LossInput input;
  input.embeddings = random_normal({4, 3}, 1);
  input.labels = labels_of({0, 0, 1, 1});
  for (const std::string name : {"triplet", "margin", "quadruplet", "snr"}) {
    SCOPED_TRACE(name);
    expect_error<c10::ValueError>(
        [&] { (*make_loss("{name: " + name + "}"))(input); }, "needs tuples");
  }
}

/// Not even that of an example in no tuple, or of a negative that is too far to
/// cost anything.
TEST(LossesOnTuples, ShowWhatIsNotFinite) {
  for (const std::string name :
       {"triplet", "margin", "quadruplet", "snr", "contrastive"}) {
    for (const int64_t bad : {2, 3}) {
      SCOPED_TRACE(name);
      LossInput input;
      input.embeddings = random_normal({4, 3}, 1);
      input.embeddings[bad][0] = HUGE_VAL;
      input.labels = labels_of({0, 0, 1, 1});
      input.tuples = labels_of({0, 1, 2}).view({1, 3});
      EXPECT_FALSE(std::isfinite(make_loss("{name: " + name + "}")
                                     ->unchecked(input)
                                     .value.item<double>()));
    }
  }
}

}  // namespace
}  // namespace kith
