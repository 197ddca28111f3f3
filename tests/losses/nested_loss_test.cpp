// A nested loss of every registered loss is the sum of those of the beginnings
// of the embeddings, written out by hand in double precision.

#include "kith/losses/nested_loss.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/loss_subjects.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

const std::vector<int64_t> kSizes = {2, 3, 6};
const std::vector<double> kWeights = {1, 0.5, 2};

/// Classes of 5, 4, 3, 2, 1 and 1; more classes than that are known.
Tensor nested_labels() {
  return labels_of({0, 1, 2, 0, 3, 1, 0, 2, 4, 0, 1, 3, 0, 5, 1, 2});
}

std::unique_ptr<Loss> loss_of_size(const std::string& yaml, int64_t dim) {
  return make_loss_for(yaml, torch::empty({1, dim}, torch::kDouble), 7);
}

/// The loss of each size, made alike every time.
struct Nested {
  explicit Nested(const std::string& yaml, bool unit = true)
      : loss({kSizes, kWeights, unit}, {7, 6, 0},
             [&yaml](const LossContext& context) {
               return std::shared_ptr<Loss>(loss_of_size(yaml, context.dim));
             }) {
    for (const int64_t size : kSizes) {
      parts.push_back(loss_of_size(yaml, size));
    }
  }

  /// sum_d c_d L_d(x_d / |x_d|) as autograd of LibTorch knows it; the whole as
  /// it is given.
  Tensor by_hand(const LossInput& input, bool unit = true) const {
    Tensor sum = torch::zeros({}, torch::kDouble);
    for (size_t i = 0; i < kSizes.size(); ++i) {
      const auto cut = [&](const Tensor& x) {
        const Tensor part = x.slice(1, 0, kSizes[i]).clone();
        const bool is_whole = part.size(1) == x.size(1);
        return unit && !is_whole ? part / part.square().sum(1, true).sqrt()
                                 : part;
      };
      LossInput part = input;
      part.embeddings = cut(input.embeddings);
      if (input.database.defined()) {
        part.database.embeddings = cut(input.database.embeddings);
      }
      sum = sum + kWeights[i] * (*parts[i])(part).value;
    }
    return sum;
  }

  NestedLoss loss;
  std::vector<std::unique_ptr<Loss>> parts;
};

void expect_equal(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.defined(), expected.defined());
  if (!actual.defined()) return;
  EXPECT_LE(max_difference(actual, expected),
            1e-12 * std::max(1.0, expected.abs().max().item<double>()));
}

/// Value and all gradients are those of the sum.
void expect_sum(const Nested& nested, LossInput input, bool unit = true) {
  const Tensor start = input.embeddings;
  input.embeddings = start.clone().requires_grad_();
  const Tensor found = nested.loss(input).value;
  found.backward();
  const Tensor gradient = input.embeddings.grad();
  input.embeddings = start.clone().requires_grad_();
  const Tensor expected = nested.by_hand(input, unit);
  expected.backward();
  EXPECT_NEAR(found.item<double>(), expected.item<double>(),
              1e-12 * std::max(1.0, std::abs(expected.item<double>())));
  expect_equal(gradient, input.embeddings.grad());
  const auto learnt = nested.loss.named_parameters();
  size_t count = 0;
  for (size_t i = 0; i < kSizes.size(); ++i) {
    for (const auto& entry : nested.parts[i]->named_parameters()) {
      const std::string name = std::to_string(kSizes[i]) + "." + entry.key();
      SCOPED_TRACE(name);
      expect_equal(learnt[name].grad(), entry.value().grad());
      ++count;
    }
  }
  EXPECT_EQ(learnt.size(), count);
}

class EveryNestedLoss : public ::testing::TestWithParam<LossSubject> {
 protected:
  static std::string yaml() { return "{name: " + GetParam().name + "}"; }

  /// Unit vectors unless the loss takes any.
  static LossInput input(const Nested& nested) {
    const Tensor labels = nested_labels();
    Tensor x = random_normal({labels.size(0), 6}, 1);
    if (nested.loss.wants_unit()) x = normalize_rows(x);
    return input_for(nested.loss, x, labels, GetParam().width);
  }
};

TEST_P(EveryNestedLoss, IsTheSumOverTheSizes) {
  const Nested nested(yaml());
  expect_sum(nested, input(nested));
}

TEST_P(EveryNestedLoss, TakesBeginningsAsTheyAreIfTheWholeIs) {
  const Nested nested(yaml(), /*unit=*/false);
  if (nested.loss.wants_unit()) GTEST_SKIP() << "it is defined on unit vectors";
  expect_sum(nested, input(nested), /*unit=*/false);
}

TEST_P(EveryNestedLoss, GradientIsTheDerivative) {
  const Nested nested(yaml());
  if (!nested.loss.gradient_is_derivative()) {
    GTEST_SKIP() << "by intention the gradient is not the derivative";
  }
  LossInput at = input(nested);
  const LossGradient result = differentiate(nested.loss, at);
  const Tensor x = at.embeddings;
  const auto value_at = [&](const Tensor& moved) {
    at.embeddings = moved;
    return nested.loss(at).value.item<double>();
  };
  constexpr double kMove = 1e-6;
  const double scale = result.gradient.abs().max().item<double>();
  for (uint64_t seed = 50; seed < 58; ++seed) {
    Tensor direction = random_normal(x.sizes().vec(), seed);
    direction = direction / direction.norm();
    const double slope =
        (value_at(x + kMove * direction) - value_at(x - kMove * direction)) /
        (2 * kMove);
    EXPECT_NEAR(slope, (result.gradient * direction).sum().item<double>(),
                2e-5 * scale);
  }
}

TEST_P(EveryNestedLoss, AsksForWhatItsLossAsks) {
  const Nested nested(yaml());
  const Loss& alone = *nested.parts.back();
  EXPECT_EQ(nested.loss.wants_unit(), alone.wants_unit());
  EXPECT_EQ(nested.loss.needs_positives(), alone.needs_positives());
  EXPECT_EQ(nested.loss.tuple_widths(), alone.tuple_widths());
  EXPECT_EQ(nested.loss.depends_on_order(), alone.depends_on_order());
  EXPECT_EQ(nested.loss.takes_mixed(), alone.takes_mixed());
  EXPECT_EQ(nested.loss.takes_database(), alone.takes_database());
  EXPECT_EQ(nested.loss.classes(), alone.classes());
  EXPECT_EQ(nested.loss.decays_parameters(), alone.decays_parameters());
  for (const auto& entry : alone.named_parameters()) {
    for (const int64_t size : kSizes) {
      EXPECT_EQ(
          nested.loss.parameter_lr(std::to_string(size) + "." + entry.key()),
          alone.parameter_lr(entry.key()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, EveryNestedLoss,
                         ::testing::ValuesIn(loss_subjects()),
                         [](const auto& param_info) {
                           return param_info.param.test_name();
                         });

TEST(NestedLossTest, VirtualExamplesAreThoseOfEachSizeAlone) {
  const Nested nested("{name: recall_at_k, simix: true}");
  LossInput input;
  input.embeddings = normalize_rows(random_normal({16, 6}, 1));
  input.labels = nested_labels();
  input.seed = 9;
  expect_sum(nested, input);
}

TEST(NestedLossTest, TheDatabaseIsCutTheSame) {
  const Nested nested("{name: contrastive}");
  LossInput input;
  input.embeddings = normalize_rows(random_normal({16, 6}, 1));
  input.labels = nested_labels();
  input.database.embeddings = normalize_rows(random_normal({9, 6}, 2));
  input.database.labels = labels_of({0, 1, 2, 3, 4, 5, 6, 0, 1});
  expect_sum(nested, input);
}

TEST(NestedLossTest, StatisticsAreThoseOfTheWhole) {
  const Nested nested("{name: recall_at_k}");
  LossInput input;
  input.embeddings = normalize_rows(random_normal({16, 6}, 1));
  input.labels = nested_labels();
  EXPECT_EQ(nested.loss(input).stats, (*nested.parts.back())(input).stats);
}

TEST(NestedLossTest, ABeginningOfZerosHasAGradientOfFiniteNumbers) {
  const Nested nested("{name: recall_at_k}");
  LossInput input;
  Tensor x = random_normal({16, 6}, 1);
  x.slice(1, 0, 2).zero_();
  input.embeddings = normalize_rows(x);
  input.labels = nested_labels();
  const LossGradient found = differentiate(nested.loss, input);
  EXPECT_TRUE(std::isfinite(found.value));
  EXPECT_TRUE(torch::isfinite(found.gradient).all().item<bool>());
}

TEST(NestedLossTest, RefusesWhatCannotBe) {
  const auto make = [](NestedSizes sizes) {
    NestedLoss(std::move(sizes), {7, 6, 0}, [](const LossContext& context) {
      return std::shared_ptr<Loss>(
          loss_of_size("{name: recall_at_k}", context.dim));
    });
  };
  EXPECT_THROW(make({{}}), c10::ValueError);
  EXPECT_THROW(make({{4, 4}}), c10::ValueError);
  EXPECT_THROW(make({{0, 4}}), c10::ValueError);
  EXPECT_THROW(make({{2, 4}, {1}}), c10::ValueError);
  const Nested nested("{name: recall_at_k}");
  EXPECT_THROW(nested.loss(torch::ones({4, 5}), labels_of({0, 0, 1, 1})),
               c10::ValueError);
  const std::shared_ptr<Loss> one = loss_of_size("{name: proxy_nca}", 6);
  expect_error<ConfigError>(
      [&] {
        NestedLoss({{3, 6}}, {7, 6, 0},
                   [&](const LossContext&) { return one; });
      },
      "needs a loss for each size");
}

}  // namespace
}  // namespace kith
