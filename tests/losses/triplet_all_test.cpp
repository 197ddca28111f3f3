#include "kith/losses/triplet_all.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/batches.h"
#include "tests/support/torch/expect_gradient.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// Points of a circle at these degrees, the first two of one class.
LossInput circle_of(const std::vector<double>& degrees) {
  const Tensor angle = torch::tensor(degrees, torch::kDouble) * (M_PI / 180);
  LossInput input;
  input.embeddings = torch::stack({angle.cos(), angle.sin()}, 1);
  input.labels = torch::arange(angle.size(0)).clamp_min(1);
  return input;
}

double chord(double degrees) { return 2 * std::sin(degrees / 2 * M_PI / 180); }

/// The only positives are a at 0 and b at 60 degrees, at distance 1; negatives
/// lie at 90 and at 180.
TEST(TripletAllLoss, OfACircle) {
  const LossInput input = circle_of({0, 60, 90, 180});
  const double near = 1 - chord(30) + 0.05;  // b against 90 degrees
  // a is farther than 1.05 from both, and b from 180 degrees.
  EXPECT_NEAR(TripletAll()(input).value.item<double>(), near, 1e-12);
  EXPECT_NEAR(TripletAll({.reduction = "all"})(input).value.item<double>(),
              near / 4, 1e-12);
  const double wide = (1 - chord(90) + 1) + (1 - chord(180) + 1) +
                      (1 - chord(30) + 1) + (1 - chord(120) + 1);
  EXPECT_NEAR(TripletAll({.margin = 1})(input).value.item<double>(), wide / 3,
              1e-12);  // 180 degrees from a costs nothing
}

/// The mean over all is the mean over the active ones where all are.
TEST(TripletAllLoss, ReductionsAgreeWhereAllTripletsAreActive) {
  const LabelledBatch batch = make_batch({4, 1, 3, 2, 14}, 6, 1);
  expect_same(differentiate(TripletAll({.margin = 3}), batch.input()),
              differentiate(TripletAll({.margin = 3, .reduction = "all"}),
                            batch.input()),
              1e-12, 1e-12);
}

TEST(TripletAllLoss, WithADatabaseTripletsAreOfBoth) {
  const LabelledBatch batch = make_batch({4, 1, 3, 2}, 6, 2);
  const TripletAll loss;
  LossInput input = batch.input();
  input.database = {batch.x, batch.labels, torch::arange(batch.size())};
  EXPECT_NEAR(loss(input).value.item<double>(),
              loss(batch.input()).value.item<double>(), 1e-12);
}

}  // namespace
}  // namespace kith
