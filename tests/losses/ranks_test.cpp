// Every registered loss, computed by several ranks: the value and the gradient
// are those of one.

#include <cmath>
#include <mutex>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/loss_on_ranks.h"
#include "tests/support/torch/rank_threads.h"

namespace kith {
namespace {

class LossOnRanks : public ::testing::TestWithParam<LossSubject> {
 protected:
  /// Each rank has its rows of the gradient. `lanes` 0: one a rank.
  static FoundLoss together(const Tensor& x, int64_t size, int64_t lanes,
                            const std::string& options) {
    FoundLoss found;
    found.gradient = torch::full_like(x, NAN);
    std::mutex mutex;
    const auto errors = errors_of_ranks(size, [&](Communicator& ranks) {
      at::set_num_threads(1);
      const FoundLoss mine = find_as_rank(GetParam(), x, ranks, lanes, options);
      const std::lock_guard lock(mutex);
      found.gradient.slice(0, mine.begin, mine.end)
          .copy_(mine.gradient.slice(0, mine.begin, mine.end));
      if (!ranks.is_first()) {
        EXPECT_TRUE(found.value == 0 || found.value == mine.value);
      }
      found.value = mine.value;
      if (ranks.is_first()) found.learnt = mine.learnt;
    });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
    return found;
  }

  static void expect_same(at::ScalarType type, double tolerance,
                          const std::string& options = "") {
    const Tensor x = embeddings_for_ranks(type);
    const FoundLoss one = find_alone(GetParam(), x, options);
    for (const int64_t size : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE(std::to_string(size) + " ranks");
      const FoundLoss all = together(x, size, 0, options);
      EXPECT_NEAR(all.value, one.value, tolerance * std::abs(one.value));
      EXPECT_LE(relative_difference(all.gradient, one.gradient), tolerance);
      ASSERT_EQ(all.learnt.size(), one.learnt.size());
      for (size_t i = 0; i < one.learnt.size(); ++i) {
        EXPECT_LE(relative_difference(all.learnt[i], one.learnt[i]), tolerance);
      }
    }
  }
};

TEST_P(LossOnRanks, DoubleIsThatOfOne) { expect_same(at::kDouble, 1e-12); }

TEST_P(LossOnRanks, FloatIsThatOfOne) { expect_same(at::kFloat, 2e-6); }

TEST_P(LossOnRanks, SmallBlocksAndVirtualExamples) {
  if (!takes_simix(GetParam())) GTEST_SKIP() << "not on the row engine";
  expect_same(at::kDouble, 1e-12, ", block: 5");
  expect_same(at::kDouble, 1e-12, ", simix: true");
  expect_same(at::kDouble, 1e-12, ", simix: true, block: 4");
}

TEST_P(LossOnRanks, LanesGiveTheSameBits) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    const Tensor x = embeddings_for_ranks(type);
    for (const int64_t lanes : {4, 6, 8}) {
      const FoundLoss one = together(x, 1, lanes, "");
      for (const int64_t size : {2, 3, 4, 6, 8}) {
        if (lanes % size != 0) continue;
        SCOPED_TRACE(std::to_string(lanes) + " lanes, " + std::to_string(size) +
                     " ranks");
        const FoundLoss all = together(x, size, lanes, "");
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
