// Losses of smooth ranks when the positives of a query are spread widely in
// units of the temperature: one exponential a column is then not enough.

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "tests/support/torch/cpu_levels.h"
#include "tests/support/torch/expect_gradient.h"
#include "tests/support/torch/reference_losses.h"

namespace kith {
namespace {

struct SpreadSubject {
  std::string loss;
  double temperature;
  double spread;  ///< Similarities of the positives to the query: +-spread.
};

void PrintTo(const SpreadSubject& subject, std::ostream* out) {
  *out << subject.loss << " with t = " << subject.temperature
       << " and positives at +-" << subject.spread;
}

std::vector<SpreadSubject> spread_subjects() {
  std::vector<SpreadSubject> all;
  for (const char* loss : {"recall_at_k", "smooth_ap"}) {
    for (const double t : {0.001, 0.01}) {
      // About 0.66 is as far as is possible without an exponential a pair, for
      // t = 0.001 in double and for t = 0.01 in single precision. Just below,
      // columns are cut off soon after the farther positive.
      for (const double spread : {0.3, 0.5, 0.664, 0.667, 0.6875, 0.9}) {
        all.push_back({loss, t, spread});
      }
    }
  }
  return all;
}

class RankSpread : public ::testing::TestWithParam<SpreadSubject> {
 protected:
  /// Points of the circle. The first is the query, the next two its positives;
  /// of the negatives some are everywhere and some within a few temperatures
  /// of a positive, where the sigmoids are neither 0 nor 1.
  RankSpread() {
    const SpreadSubject& subject = GetParam();
    const double right = std::acos(subject.spread);
    const double left = -std::acos(-subject.spread);
    std::vector<double> angles = {0, right, left};
    std::vector<int64_t> labels = {0, 0, 0};
    for (int i = 0; i < 30; ++i) {
      angles.push_back(0.05 + 0.2 * i);
      labels.push_back(1 + i / 3);
    }
    for (int i = -5; i <= 5; ++i) {
      for (const double centre : {right, left}) {
        angles.push_back(centre + subject.temperature * (0.3 + i));
        labels.push_back(100 + i);
      }
    }
    const Tensor angle = torch::tensor(angles, torch::kDouble);
    input_.embeddings = torch::stack({angle.cos(), angle.sin()}, 1);
    input_.labels = labels_of(labels);
  }

  void expect_formula(bool query_in_database,
                      const at::Device& device = at::kCPU) const {
    const SpreadSubject& subject = GetParam();
    const bool recall = subject.loss == "recall_at_k";
    const auto loss = make_loss(
        "{name: " + subject.loss +
        (recall ? ", k: [1, 8, 20, 32, 40, 48], t2: " : ", temperature: ") +
        std::to_string(subject.temperature) +
        ", query_in_database: " + (query_in_database ? "true" : "false") + "}");
    const RankOptions options{
        subject.temperature, query_in_database, {1, 8, 20, 32, 40, 48}};
    const LossGradient expected = differentiate_function(
        [&](const Tensor& x) {
          const Similarities in =
              similarities_of_batch(torch::mm(x, x.t()), input_.labels);
          return recall ? reference_recall_at_k(in, options)
                        : reference_smooth_ap(in, options);
        },
        input_.embeddings);
    for (const int64_t positive : {1, 2}) {
      ASSERT_GT(expected.gradient[positive].abs().max().item<double>(), 0.005);
    }
    LossInput input = moved_to(input_, device);
    expect_same(differentiate(*loss, input), expected, 1e-12, 1e-11);
    input.embeddings = input.embeddings.to(at::kFloat);
    // Similarities are known to 6e-8, which the temperature divides.
    const double digits = 1e-6 / subject.temperature;
    expect_same(differentiate(*loss, input), expected, digits, digits);
  }

  LossInput input_;
};

TEST_P(RankSpread, IsTheFormula) {
  for_each_cpu_level([&] {
    expect_formula(/*query_in_database=*/false);
    expect_formula(/*query_in_database=*/true);
  });
}

TEST_P(RankSpread, IsTheFormulaOnCuda) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  expect_formula(/*query_in_database=*/false, at::kCUDA);
  expect_formula(/*query_in_database=*/true, at::kCUDA);
}

INSTANTIATE_TEST_SUITE_P(Spreads, RankSpread,
                         ::testing::ValuesIn(spread_subjects()));

}  // namespace
}  // namespace kith
