#include "kith/losses/circle.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/batches.h"
#include "tests/support/torch/expect_gradient.h"
#include "tests/support/torch/reference_losses.h"

namespace kith {
namespace {

class CircleLoss : public ::testing::Test {
 protected:
  LossGradient reference(bool detach) const {
    return differentiate_function(
        [&](const Tensor& x) {
          return reference_circle(
              similarities_of_batch(torch::mm(x, x.t()), batch_.labels),
              detach);
        },
        batch_.x);
  }

  LabelledBatch batch_ = make_batch({4, 1, 3, 2, 5}, 6, 1);
};

TEST_F(CircleLoss, WeightsAreConstantsInTheGradient) {
  const Circle loss;
  EXPECT_FALSE(loss.gradient_is_derivative());
  expect_same(differentiate(loss, batch_.input()), reference(true), 1e-12,
              1e-11);
}

TEST_F(CircleLoss, WithoutDetachTheGradientIsTheDerivative) {
  const Circle loss({.detach = false});
  EXPECT_TRUE(loss.gradient_is_derivative());
  const LossGradient result = differentiate(loss, batch_.input());
  expect_same(result, reference(false), 1e-12, 1e-11);

  const double scale = result.gradient.abs().max().item<double>();
  constexpr double kStep = 1e-6;
  const auto value = [&](const Tensor& x) {
    LossInput input = batch_.input();
    input.embeddings = x;
    return loss(input).value.item<double>();
  };
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Tensor direction = random_normal({batch_.size(), 6}, seed);
    direction = direction / direction.norm();
    const double slope = (value(batch_.x + kStep * direction) -
                          value(batch_.x - kStep * direction)) /
                         (2 * kStep);
    EXPECT_NEAR(slope, (result.gradient * direction).sum().item<double>(),
                1e-6 * scale);
  }
}

TEST_F(CircleLoss, DetachChangesTheGradientOnly) {
  const LossGradient with = reference(true);
  const LossGradient without = reference(false);
  EXPECT_DOUBLE_EQ(with.value, without.value);
  EXPECT_GT(max_difference(with.gradient, without.gradient), 1);
}

}  // namespace
}  // namespace kith
