// What every registered loss must do, on the whole batch and on tuples of each
// width that it takes. A new loss is tested here without any change.

#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/ops/pairwise.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

struct Subject {
  std::string name;
  int64_t width = 0;  ///< Columns of the tuples it is given; 0: none.
};

void PrintTo(const Subject& subject, std::ostream* out) {
  *out << subject.name << " with tuples of " << subject.width;
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const std::string& name : loss_registry().names()) {
    all.push_back({name, 0});
    for (int64_t width : make_loss("{name: " + name + "}")->tuple_widths()) {
      all.push_back({name, width});
    }
  }
  return all;
}

/// Shuffled classes of 6, 4, 3, 2 and 1; the labels are not contiguous.
Tensor mixed_labels() {
  return labels_of({7, -2, 7, 40, 3, -2, 7, 11, 40, 7, -2, 3, 7, 40, -2, 7});
}

class LossConformance : public ::testing::TestWithParam<Subject> {
 protected:
  LossConformance() : loss_(make_loss("{name: " + GetParam().name + "}")) {}

  /// Unit vectors with tuples of the wanted width.
  LossInput input(const Tensor& embeddings, const Tensor& labels) const {
    LossInput input;
    input.embeddings = embeddings;
    input.labels = labels;
    const int64_t width = GetParam().width;
    if (width == 0) return input;
    Rng rng(5, Stream::kMiner);
    const Tensor triplets =
        miner_registry()
            .make(parse_config("{name: random}", "test"), "miner")
            ->mine(embeddings, labels, rng);
    const auto columns = [&](int64_t a, int64_t b) {
      return torch::stack({triplets.select(1, a), triplets.select(1, b)}, 1);
    };
    input.tuples =
        width == 3 ? triplets : torch::cat({columns(0, 1), columns(0, 2)});
    if (width == 2 && !takes(input)) input.tuples = columns(0, 1);
    return input;
  }

  /// Some losses want pairs of positives only.
  bool takes(const LossInput& input) const {
    try {
      compute_loss(*loss_, input);
    } catch (const c10::ValueError&) {
      return false;
    }
    return true;
  }

  LossInput mixed(at::ScalarType type = at::kDouble) const {
    const Tensor labels = mixed_labels();
    const Tensor x = normalize_rows(random_normal({labels.size(0), 6}, 1));
    return input(x.to(type), labels);
  }

  double value(const LossInput& input) const {
    return compute_loss(*loss_, input).value.item<double>();
  }

  void expect_finite(const LossInput& input) const {
    const LossGradient result = differentiate(*loss_, input);
    EXPECT_TRUE(std::isfinite(result.value)) << result.value;
    EXPECT_TRUE(result.connected);
    ASSERT_TRUE(result.gradient.defined());
    EXPECT_EQ(result.gradient.sizes(), input.embeddings.sizes());
    EXPECT_TRUE(torch::isfinite(result.gradient).all().item<bool>())
        << result.gradient;
  }

  void expect_finite(const Tensor& embeddings, const Tensor& labels) const {
    for (at::ScalarType type : {at::kDouble, at::kFloat}) {
      expect_finite(input(embeddings.to(type), labels));
    }
  }

  std::unique_ptr<Loss> loss_;
};

TEST_P(LossConformance, GradientIsTheDerivativeOfTheValue) {
  if (!loss_->gradient_is_derivative()) {
    GTEST_SKIP() << "by intention the gradient is not the derivative";
  }
  const LossInput at = mixed();
  const LossGradient result = differentiate(*loss_, at);
  const double scale = result.gradient.abs().max().item<double>();
  ASSERT_GT(scale, 0);
  constexpr double kStep = 1e-6;
  const auto expect_slope = [&](const Tensor& direction) {
    LossInput ahead = at;
    LossInput behind = at;
    ahead.embeddings = at.embeddings + kStep * direction;
    behind.embeddings = at.embeddings - kStep * direction;
    const double slope = (value(ahead) - value(behind)) / (2 * kStep);
    EXPECT_NEAR(slope, (result.gradient * direction).sum().item<double>(),
                1e-5 * scale);
  };
  for (uint64_t seed = 100; seed < 110; ++seed) {
    const Tensor direction = random_normal({16, 6}, seed);
    expect_slope(direction / direction.norm());
  }
  for (int64_t i = 0; i < 96; i += 5) {
    Tensor direction = torch::zeros({96}, torch::kDouble);
    direction[i] = 1;
    expect_slope(direction.view({16, 6}));
  }
}

TEST_P(LossConformance, PermutingTheBatchPermutesTheGradient) {
  if (loss_->depends_on_order() && GetParam().width == 0) {
    GTEST_SKIP() << "chooses pairs by their order in the batch";
  }
  const LossInput plain = mixed();
  const LossGradient before = differentiate(*loss_, plain);
  const Tensor order = random_permutation(16, 3);
  LossInput moved;
  moved.embeddings = plain.embeddings.index_select(0, order);
  moved.labels = plain.labels.index_select(0, order);
  if (plain.tuples.defined()) {
    const Tensor new_place = order.argsort();
    moved.tuples =
        new_place.index_select(0, plain.tuples.flatten()).view_as(plain.tuples);
  }
  const LossGradient after = differentiate(*loss_, moved);
  EXPECT_NEAR(after.value, before.value, 1e-12 * std::abs(before.value));
  EXPECT_LE(
      max_difference(after.gradient, before.gradient.index_select(0, order)),
      1e-12 * before.gradient.abs().max().item<double>());
}

TEST_P(LossConformance, LabelsAreOnlyNames) {
  const LossInput plain = mixed();
  LossInput renamed = plain;
  renamed.labels = plain.labels * -1000 + 17;
  // Sums run in another order.
  const double expected = value(plain);
  EXPECT_NEAR(value(renamed), expected, 1e-14 * std::abs(expected));
}

TEST_P(LossConformance, SinglePrecisionAgreesWithDouble) {
  const LossGradient wide = differentiate(*loss_, mixed(at::kDouble));
  const LossGradient narrow = differentiate(*loss_, mixed(at::kFloat));
  EXPECT_EQ(narrow.gradient.scalar_type(), at::kFloat);
  EXPECT_NEAR(narrow.value, wide.value, 1e-5 * std::abs(wide.value) + 1e-6);
  EXPECT_LE(max_difference(narrow.gradient, wide.gradient),
            1e-4 * wide.gradient.abs().max().item<double>());
}

TEST_P(LossConformance, BatchWithoutPositives) {
  expect_finite(normalize_rows(random_normal({5, 4}, 2)),
                labels_of({1, 2, 3, 4, 5}));
}

TEST_P(LossConformance, BatchOfOneClass) {
  expect_finite(normalize_rows(random_normal({5, 4}, 2)),
                labels_of({9, 9, 9, 9, 9}));
}

TEST_P(LossConformance, BatchOfOneAndOfNone) {
  expect_finite(normalize_rows(random_normal({1, 4}, 2)), labels_of({9}));
  expect_finite(torch::empty({0, 4}, torch::kDouble), labels_of({}));
}

TEST_P(LossConformance, EqualEmbeddings) {
  const Tensor x = normalize_rows(random_normal({8, 4}, 2));
  const Tensor labels = labels_of({0, 0, 1, 1, 2, 2, 3, 3});
  // All the same; the same across classes; the same within a class; zero.
  expect_finite(x.narrow(0, 0, 1).repeat({8, 1}), labels);
  expect_finite(x.narrow(0, 0, 4).repeat({2, 1}), labels);
  expect_finite(x.narrow(0, 0, 4).repeat_interleave(2, 0), labels);
  expect_finite(torch::zeros({8, 4}, torch::kDouble), labels);
}

TEST_P(LossConformance, OppositeAndOrthogonalEmbeddings) {
  const Tensor axes = torch::eye(4, torch::kDouble);
  expect_finite(torch::cat({axes, -axes}), labels_of({0, 1, 2, 3, 0, 1, 2, 3}));
  expect_finite(torch::cat({axes, -axes}), labels_of({0, 0, 1, 1, 2, 2, 3, 3}));
}

/// A network that diverged must not look like one that learns.
TEST_P(LossConformance, WhatIsNotANumberStaysVisible) {
  for (const double bad : {std::nan(""), HUGE_VAL}) {
    for (at::ScalarType type : {at::kDouble, at::kFloat}) {
      LossInput input = mixed(type);
      input.embeddings[4][2] = bad;
      const LossGradient result = differentiate(*loss_, input);
      EXPECT_FALSE(std::isfinite(result.value)) << result.value;
    }
  }
}

TEST_P(LossConformance, CudaAgreesWithTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  for (at::ScalarType type : {at::kDouble, at::kFloat}) {
    const LossInput here = mixed(type);
    const LossGradient cpu = differentiate(*loss_, here);
    const LossGradient gpu = differentiate(*loss_, moved_to(here, at::kCUDA));
    const double digits = type == at::kDouble ? 1e-11 : 1e-4;
    EXPECT_NEAR(gpu.value, cpu.value, digits);
    EXPECT_LE(max_difference(gpu.gradient, cpu.gradient),
              digits * cpu.gradient.abs().max().item<double>());
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, LossConformance,
                         ::testing::ValuesIn(subjects()),
                         [](const auto& param_info) {
                           const Subject& subject = param_info.param;
                           return subject.name +
                                  (subject.width == 0
                                       ? ""
                                       : "_tuples_of_" +
                                             std::to_string(subject.width));
                         });

}  // namespace
}  // namespace kith
