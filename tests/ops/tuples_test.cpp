#include "kith/ops/tuples.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// What pair_distances computes, of LibTorch's operations.
Tensor plain_distances(const Tensor& x, const Tensor& left, const Tensor& right,
                       bool squared) {
  const Tensor from = x.index_select(0, left);
  const Tensor to = x.index_select(0, right);
  return squared ? (from - to).square().sum(1) : row_distances(from, to);
}

/// Random pairs among `rows`, with those of a row with itself among them.
Tensor random_positions(int64_t rows, int64_t count, uint64_t seed) {
  return random_integers({count}, 1 << 20, seed)
      .to(torch::kLong)
      .remainder(rows);
}

Tensor gradient_of(const Tensor& value, const Tensor& x, bool again = false) {
  return torch::autograd::grad({value}, {x}, {}, true, again)[0];
}

TEST(PairDistances, AgreeWithOperations) {
  const Tensor left = random_positions(9, 40, 1);
  const Tensor right = random_positions(9, 40, 2);
  for (const bool squared : {false, true}) {
    for (const int64_t dim : {1, 5, 16, 37}) {
      const Tensor x = random_normal({9, dim}, 3).requires_grad_();
      const Tensor weights = random_normal({40}, 4);
      const Tensor fast = pair_distances(x, left, right, squared);
      const Tensor plain = plain_distances(x, left, right, squared);
      EXPECT_LE(max_difference(fast, plain), 1e-13);
      EXPECT_LE(max_difference(gradient_of((fast * weights).sum(), x),
                               gradient_of((plain * weights).sum(), x)),
                1e-13);
    }
  }
}

TEST(PairDistances, TakeOtherTypesAndLayouts) {
  const Tensor left = random_positions(9, 20, 1);
  const Tensor right = random_positions(9, 20, 2);
  const Tensor x = random_normal({6, 9}, 3);
  const Tensor expected = plain_distances(x.t(), left, right, false);
  EXPECT_LE(max_difference(pair_distances(x.t(), left, right), expected),
            1e-13);
  const Tensor half = x.t().to(torch::kBFloat16).requires_grad_();
  const Tensor rough = pair_distances(half, left, right);
  EXPECT_EQ(rough.scalar_type(), at::kBFloat16);
  EXPECT_LE(max_difference(rough, expected), 0.05);
  EXPECT_EQ(gradient_of(rough.sum(), half).sizes(), half.sizes());
}

TEST(PairDistances, HaveNoGradientAtZero) {
  const Tensor x = torch::ones({3, 4}, torch::kDouble).requires_grad_();
  const Tensor distances =
      pair_distances(x, labels_of({0, 1}), labels_of({2, 1}));
  EXPECT_EQ(distances.sum().item<double>(), 0);
  EXPECT_EQ(gradient_of(distances.sum(), x).abs().max().item<double>(), 0);
}

TEST(PairDistances, CanBeDifferentiatedTwice) {
  const Tensor left = random_positions(5, 12, 1);
  const Tensor right = random_positions(5, 12, 2);
  for (const bool squared : {false, true}) {
    const Tensor x = random_normal({5, 3}, 3).requires_grad_();
    const auto second = [&](const Tensor& distances) {
      const Tensor first = gradient_of(distances.square().sum(), x, true);
      return gradient_of(first.pow(3).sum(), x);
    };
    const Tensor expected = second(plain_distances(x, left, right, squared));
    EXPECT_LE(max_difference(second(pair_distances(x, left, right, squared)),
                             expected),
              1e-12 * expected.abs().max().item<double>());
  }
}

/// Enough pairs that there is work for several threads.
TEST(PairDistances, DoNotDependOnTheNumberOfThreads) {
  const Tensor left = random_positions(500, 4000, 1);
  const Tensor right = random_positions(500, 4000, 2);
  const Tensor x = random_normal({500, 64}, 3, torch::kFloat).requires_grad_();
  const int before = at::get_num_threads();
  Tensor distances[2];
  Tensor gradients[2];
  for (const int i : {0, 1}) {
    at::set_num_threads(i == 0 ? 1 : 3);
    distances[i] = pair_distances(x, left, right);
    gradients[i] = gradient_of(distances[i].sum(), x);
  }
  at::set_num_threads(before);
  EXPECT_TRUE(same_bits(distances[0], distances[1]));
  EXPECT_TRUE(same_bits(gradients[0], gradients[1]));
}

TEST(TupleDistances, AreThoseOfTheNamedColumns) {
  const Tensor x = torch::tensor({0., 1., 3., 7.}, torch::kDouble).view({4, 1});
  const Tensor tuples = labels_of({0, 1, 2, 3, 3, 0}).view({2, 3});
  const auto distances = tuple_distances(x, tuples, {{0, 1}, {0, 2}});
  ASSERT_EQ(distances.size(), 2u);
  EXPECT_TRUE(
      torch::equal(distances[0], torch::tensor({1., 0.}, torch::kDouble)));
  EXPECT_TRUE(
      torch::equal(distances[1], torch::tensor({3., 7.}, torch::kDouble)));
  const Tensor none = torch::empty({0, 3}, torch::kLong);
  EXPECT_EQ(tuple_distances(x, none, {{0, 1}, {0, 2}})[1].numel(), 0);
}

/// The direction of a difference has no size, until its square vanishes.
TEST(PairDistances, GradientIsADirectionOrZero) {
  const Tensor place = torch::arange(1);
  for (const double scale : {1.0, 1e-10, 1e-18, 1e-21, 1e-25, 1e-40}) {
    const Tensor x = (torch::tensor({0.F, 0.F, 3.F, 4.F}).view({2, 2}) *
                      static_cast<float>(scale))
                         .requires_grad_();
    pair_distances(x, place, place + 1).sum().backward();
    const Tensor expected =
        scale < 1e-19 ? torch::zeros({2}) : torch::tensor({-0.6F, -0.8F});
    EXPECT_LE(max_difference(x.grad()[0], expected), 1e-6) << scale;
  }
}

TEST(TupleDistances, SayHowToGetTuples) {
  expect_error<c10::ValueError>(
      [] {
        tuple_distances(torch::ones({2, 2}), {}, {{0, 1}});
      },
      "needs tuples, such as a miner finds");
}

TEST(HingeMean, GoesOverAllOrOverTheActive) {
  const Tensor terms = torch::tensor({0., 1., 0., 2.}, torch::kDouble);
  EXPECT_EQ(hinge_mean(terms, false).item<double>(), 0.75);
  EXPECT_EQ(hinge_mean(terms, true).item<double>(), 1.5);
  for (const bool only_active : {false, true}) {
    EXPECT_EQ(hinge_mean(torch::zeros({0}), only_active).item<double>(), 0);
    EXPECT_EQ(hinge_mean(torch::zeros({3}), only_active).item<double>(), 0);
  }
}

TEST(KeepBadVisible, ShowsWhatIsNotFinite) {
  Tensor x = torch::ones({2, 2});
  const Tensor value = torch::tensor(0.5);
  EXPECT_EQ(keep_bad_visible(value, x).item<double>(), 0.5);
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    x[1][0] = bad;
    EXPECT_TRUE(std::isnan(keep_bad_visible(value, x).item<double>()));
  }
}

}  // namespace
}  // namespace kith
