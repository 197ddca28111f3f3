// What every registered loss must do, on the whole batch and on tuples of each
// width that it takes. A new loss is tested here without any change.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/ops/pairwise.h"
#include "tests/support/torch/loss_subjects.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// Shuffled classes of 6, 4, 3, 2 and 1; the labels are not contiguous.
Tensor shuffled_classes() {
  return labels_of({7, -2, 7, 40, 3, -2, 7, 11, 40, 7, -2, 3, 7, 40, -2, 7});
}

/// A loss and a batch for it.
struct ConformanceCase {
  std::unique_ptr<Loss> loss;
  LossInput input;

  LossGradient differentiate() const {
    for (const auto& [name, value] : loss->named_parameters().pairs()) {
      value.mutable_grad().reset();
    }
    return kith::differentiate(*loss, input);
  }
  double value() const { return (*loss)(input).value.item<double>(); }
  double value_at(const Tensor& embeddings) const {
    LossInput moved = input;
    moved.embeddings = embeddings;
    return (*loss)(moved).value.item<double>();
  }
};

class LossConformance : public ::testing::TestWithParam<LossSubject> {
 protected:
  /// There are more classes than the batch has.
  static ConformanceCase make(const Tensor& embeddings, const Tensor& labels) {
    ConformanceCase made;
    made.loss = make_loss_for("{name: " + GetParam().name + "}", embeddings,
                              count_classes(labels) + 2);
    made.input = input_for(*made.loss, embeddings, labels, GetParam().width);
    return made;
  }

  /// Unit vectors.
  static ConformanceCase mixed(at::ScalarType type = at::kDouble,
                               const c10::Device& device = at::kCPU) {
    const Tensor labels = shuffled_classes();
    const Tensor x = normalize_rows(random_normal({labels.size(0), 6}, 1));
    return make(x.to(device, type), labels.to(device));
  }

  static void expect_finite(const ConformanceCase& at) {
    const LossGradient result = at.differentiate();
    EXPECT_TRUE(std::isfinite(result.value)) << result.value;
    EXPECT_TRUE(result.connected);
    ASSERT_TRUE(result.gradient.defined());
    EXPECT_EQ(result.gradient.sizes(), at.input.embeddings.sizes());
    EXPECT_TRUE(torch::isfinite(result.gradient).all().item<bool>())
        << result.gradient;
    for (const auto& [name, value] : at.loss->named_parameters().pairs()) {
      if (!value.grad().defined()) continue;
      EXPECT_TRUE(torch::isfinite(value.grad()).all().item<bool>())
          << name << "\n"
          << value.grad();
    }
  }

  static void expect_finite(const Tensor& embeddings, const Tensor& labels) {
    for (at::ScalarType type : {at::kDouble, at::kFloat}) {
      expect_finite(make(embeddings.to(type), labels));
    }
  }
};

/// Some directions of a space: unit vectors and coordinates.
std::vector<Tensor> directions(at::IntArrayRef sizes) {
  std::vector<Tensor> all;
  for (uint64_t seed = 100; seed < 110; ++seed) {
    const Tensor direction = random_normal(sizes.vec(), seed);
    all.push_back(direction / direction.norm());
  }
  const int64_t count = all[0].numel();
  for (int64_t i = 0; i < count; i += std::max<int64_t>(count / 20, 1)) {
    Tensor direction = torch::zeros({count}, torch::kDouble);
    direction[i] = 1;
    all.push_back(direction.view(sizes));
  }
  return all;
}

constexpr double kStep = 1e-6;

TEST_P(LossConformance, GradientIsTheDerivativeOfTheValue) {
  const ConformanceCase at = mixed();
  if (!at.loss->gradient_is_derivative()) {
    GTEST_SKIP() << "by intention the gradient is not the derivative";
  }
  const LossGradient result = at.differentiate();
  const double scale = result.gradient.abs().max().item<double>();
  ASSERT_GT(scale, 0);
  const Tensor& x = at.input.embeddings;
  for (const Tensor& direction : directions(x.sizes())) {
    const double slope = (at.value_at(x + kStep * direction) -
                          at.value_at(x - kStep * direction)) /
                         (2 * kStep);
    EXPECT_NEAR(slope, (result.gradient * direction).sum().item<double>(),
                1e-5 * scale);
  }
}

TEST_P(LossConformance, GradientsOfItsParametersAreDerivatives) {
  const ConformanceCase at = mixed();
  const NamedTensors parameters = at.loss->named_parameters().pairs();
  if (parameters.empty()) GTEST_SKIP() << "it has no parameters";
  at.differentiate();
  for (const auto& [name, value] : parameters) {
    SCOPED_TRACE(name);
    Tensor live = value;
    ASSERT_EQ(live.scalar_type(), at::kDouble);
    ASSERT_TRUE(live.requires_grad());
    ASSERT_TRUE(live.grad().defined());
    const Tensor gradient = live.grad().clone();
    const double scale = gradient.abs().max().item<double>();
    EXPECT_GT(scale, 0);
    const torch::NoGradGuard no_grad;
    const Tensor before = live.clone();
    const auto value_at = [&](const Tensor& moved) {
      live.copy_(moved);
      return at.value();
    };
    for (const Tensor& direction : directions(live.sizes())) {
      const double slope = (value_at(before + kStep * direction) -
                            value_at(before - kStep * direction)) /
                           (2 * kStep);
      EXPECT_NEAR(slope, (gradient * direction).sum().item<double>(),
                  1e-5 * scale);
    }
    live.copy_(before);
  }
}

TEST_P(LossConformance, PermutingTheBatchPermutesTheGradient) {
  ConformanceCase at = mixed();
  const std::vector<int64_t> widths = at.loss->tuple_widths();
  // The widest tuples leave nothing to choose.
  if (at.loss->depends_on_order() &&
      (widths.empty() || GetParam().width != widths.back())) {
    GTEST_SKIP() << "chooses pairs by their order in the batch";
  }
  const LossGradient before = at.differentiate();
  const Tensor order = random_permutation(16, 3);
  at.input.embeddings = at.input.embeddings.index_select(0, order);
  at.input.labels = at.input.labels.index_select(0, order);
  if (at.input.tuples.defined()) {
    const Tensor new_place = order.argsort();
    at.input.tuples = new_place.index_select(0, at.input.tuples.flatten())
                          .view_as(at.input.tuples);
  }
  const LossGradient after = at.differentiate();
  EXPECT_NEAR(after.value, before.value, 1e-12 * std::abs(before.value));
  EXPECT_LE(
      max_difference(after.gradient, before.gradient.index_select(0, order)),
      1e-12 * before.gradient.abs().max().item<double>());
}

TEST_P(LossConformance, LabelsAreOnlyNames) {
  ConformanceCase at = mixed();
  if (at.loss->classes() > 0) {
    GTEST_SKIP() << "labels are the numbers of its parameters";
  }
  // Sums run in another order.
  const double expected = at.value();
  at.input.labels = at.input.labels * -1000 + 17;
  EXPECT_NEAR(at.value(), expected, 1e-14 * std::abs(expected));
}

TEST_P(LossConformance, ClassesOfItsParametersAreChecked) {
  ConformanceCase at = mixed();
  if (at.loss->classes() == 0) GTEST_SKIP() << "labels are only names";
  EXPECT_EQ(at.loss->classes(), 7);
  at.input.labels = at.input.labels + 3;  // 5 classes: the last becomes 7
  EXPECT_THROW(at.value(), c10::ValueError);
}

TEST_P(LossConformance, SinglePrecisionAgreesWithDouble) {
  const LossGradient wide = mixed(at::kDouble).differentiate();
  const LossGradient narrow = mixed(at::kFloat).differentiate();
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

TEST_P(LossConformance, CudaAgreesWithTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  for (at::ScalarType type : {at::kDouble, at::kFloat}) {
    const ConformanceCase here = mixed(type);
    const ConformanceCase there = mixed(type, at::kCUDA);
    const LossGradient cpu = here.differentiate();
    const LossGradient gpu = there.differentiate();
    const double digits = type == at::kDouble ? 1e-11 : 1e-4;
    EXPECT_NEAR(gpu.value, cpu.value,
                digits * std::max(1.0, std::abs(cpu.value)));
    EXPECT_LE(max_difference(gpu.gradient, cpu.gradient),
              digits * cpu.gradient.abs().max().item<double>());
    const NamedTensors expected = here.loss->named_parameters().pairs();
    const NamedTensors actual = there.loss->named_parameters().pairs();
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      const Tensor gradient = expected[i].second.grad();
      EXPECT_TRUE(actual[i].second.is_cuda()) << actual[i].first;
      EXPECT_LE(max_difference(actual[i].second.grad(), gradient),
                digits * gradient.abs().max().item<double>())
          << actual[i].first;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, LossConformance,
                         ::testing::ValuesIn(loss_subjects()),
                         [](const auto& param_info) {
                           return param_info.param.test_name();
                         });

}  // namespace
}  // namespace kith
