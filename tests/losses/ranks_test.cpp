// Every registered loss, computed by several ranks: the value and the gradient
// are those of one.

#include <cmath>
#include <mutex>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/ops/pairwise.h"
#include "tests/support/torch/loss_subjects.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/rank_threads.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// What ranks find together: each has its rows of the gradient.
struct Found {
  double value = 0;
  Tensor gradient;
  std::vector<Tensor> learnt;  ///< Gradients of the loss's parameters.
};

class LossOnRanks : public ::testing::TestWithParam<LossSubject> {
 protected:
  /// 23 vectors in shuffled classes of 1 to 7.
  static Tensor labels() {
    return labels_of({7, -2, 7,  40, 3, -2, 7,  11, 40, 7, -2, 3,
                      7, 40, -2, 7,  5, 7,  40, 5,  11, 5, 40});
  }

  static std::unique_ptr<Loss> make(const Tensor& x,
                                    const std::string& options) {
    return make_loss_for("{name: " + GetParam().name + options + "}", x,
                         count_classes(labels()) + 2);
  }

  static Found alone(const Tensor& x, const std::string& options) {
    const std::unique_ptr<Loss> loss = make(x, options);
    return found_by(*loss, input_for(*loss, x, labels(), GetParam().width));
  }

  static Found found_by(const Loss& loss, const LossInput& input) {
    const LossGradient result = differentiate(loss, input);
    Found found{result.value, result.gradient, {}};
    for (const auto& [name, value] : loss.named_parameters().pairs()) {
      found.learnt.push_back(value.grad());
    }
    return found;
  }

  /// `lanes` 0: one a rank.
  static Found together(const Tensor& x, int64_t size, int64_t lanes,
                        const std::string& options) {
    Found found;
    found.gradient = torch::full_like(x, NAN);
    std::mutex mutex;
    const auto errors = errors_of_ranks(size, [&](Communicator& ranks) {
      at::set_num_threads(1);
      const std::unique_ptr<Loss> loss = make(x, options);
      LossInput input = input_for(*loss, x, labels(), GetParam().width);
      BatchLanes batch{ranks, Lanes(lanes, ranks), {}};
      for (int64_t r = 0; r <= size; ++r) {
        batch.begins.push_back(x.size(0) * r / size);
      }
      input.lanes = &batch;
      const Found mine = found_by(*loss, input);
      const std::lock_guard lock(mutex);
      found.gradient.slice(0, batch.begin(), batch.end())
          .copy_(mine.gradient.slice(0, batch.begin(), batch.end()));
      if (!ranks.is_first()) {
        EXPECT_TRUE(found.value == 0 || found.value == mine.value);
      }
      found.value = mine.value;
      if (ranks.is_first()) found.learnt = mine.learnt;
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
    return found;
  }

  static void expect_near(const Tensor& a, const Tensor& b, double tolerance) {
    ASSERT_EQ(a.defined(), b.defined());
    if (!a.defined() || a.numel() == 0) return;
    const double scale = b.abs().max().item<double>();
    EXPECT_LE(max_difference(a, b), tolerance * scale);
  }

  static void expect_same(at::ScalarType type, double tolerance,
                          const std::string& options = "") {
    const Tensor x =
        normalize_rows(random_normal({labels().size(0), 6}, 1)).to(type);
    const Found one = alone(x, options);
    for (const int64_t size : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(std::to_string(size) + " ranks");
      const Found all = together(x, size, 0, options);
      EXPECT_NEAR(all.value, one.value, tolerance * std::abs(one.value));
      expect_near(all.gradient, one.gradient, tolerance);
      ASSERT_EQ(all.learnt.size(), one.learnt.size());
      for (size_t i = 0; i < one.learnt.size(); ++i) {
        expect_near(all.learnt[i], one.learnt[i], tolerance);
      }
    }
  }
};

TEST_P(LossOnRanks, DoubleIsThatOfOne) { expect_same(at::kDouble, 1e-12); }

TEST_P(LossOnRanks, FloatIsThatOfOne) { expect_same(at::kFloat, 2e-6); }

TEST_P(LossOnRanks, SmallBlocksAndVirtualExamples) {
  if (GetParam().width > 0) GTEST_SKIP() << "of tuples";
  const std::unique_ptr<Loss> loss =
      make(torch::zeros({1, 6}, torch::kDouble), "");
  if (!loss->takes_mixed()) GTEST_SKIP() << "not on the row engine";
  expect_same(at::kDouble, 1e-12, ", block: 5");
  expect_same(at::kDouble, 1e-12, ", simix: true");
  expect_same(at::kDouble, 1e-12, ", simix: true, block: 4");
}

TEST_P(LossOnRanks, LanesGiveTheSameBits) {
  const Tensor x = normalize_rows(random_normal({labels().size(0), 6}, 1));
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    for (const int64_t lanes : {4, 6, 8}) {
      const Found one = together(x.to(type), 1, lanes, "");
      for (const int64_t size : {2, 3, 4, 6, 8}) {
        if (lanes % size != 0) continue;
        SCOPED_TRACE(std::to_string(lanes) + " lanes, " + std::to_string(size) +
                     " ranks");
        const Found all = together(x.to(type), size, lanes, "");
        EXPECT_EQ(all.value, one.value);
        EXPECT_TRUE(all.gradient.equal(one.gradient));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LossOnRanks, ::testing::ValuesIn(loss_subjects()),
                         [](const auto& param_info) {
                           return param_info.param.test_name();
                         });

}  // namespace
}  // namespace kith
