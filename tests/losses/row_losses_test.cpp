// Every loss of the row engine against its formula, and what must not change
// its result: the size of blocks, the memory, the instructions.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/losses/loss.h"
#include "tests/support/torch/batches.h"
#include "tests/support/torch/cpu_levels.h"
#include "tests/support/torch/expect_gradient.h"
#include "tests/support/torch/reference_losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

std::vector<std::string> row_losses() {
  std::vector<std::string> names;
  for (const std::string& name : loss_registry().names()) {
    if (has_reference(name)) names.push_back(name);
  }
  return names;
}

/// Whether a loss has the options of the row engine.
bool is_row_loss(const std::string& name) {
  try {
    make_loss("{name: " + name + ", memory_mb: 8}");
  } catch (const ConfigError&) {
    return false;
  }
  return true;
}

TEST(RowLosses, EachHasAReference) {
  for (const std::string& name : loss_registry().names()) {
    EXPECT_EQ(has_reference(name), is_row_loss(name)) << name;
  }
}

class RowLossTest : public ::testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Loss> make(const std::string& options = "") {
    return make_loss("{name: " + GetParam() + options + "}");
  }

  static LossGradient reference(const LabelledBatch& batch) {
    return differentiate_function(
        [&](const Tensor& x) {
          return reference_loss(GetParam(), x, batch.labels);
        },
        batch.x);
  }
};

TEST_P(RowLossTest, IsItsFormula) {
  const auto loss = make();
  for (const LabelledBatch& batch : random_batches()) {
    SCOPED_TRACE(batch.name);
    expect_same(differentiate(*loss, batch.input()), reference(batch), 1e-10,
                1e-9);
  }
}

TEST_P(RowLossTest, BlocksOfAnySizeGiveTheSame) {
  const LabelledBatch batch = make_batch({5, 1, 8, 3, 2, 1, 6, 4, 1, 2}, 6, 1);
  const bool can_mix = make()->takes_mixed();
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    for (const bool mix : {false, true}) {
      if (mix && !can_mix) continue;
      SCOPED_TRACE(std::string(c10::toString(type)) + (mix ? " mixed" : ""));
      LossInput input = batch.input(type);
      if (mix) input.mixed = all_pairs(batch, 2);
      const LossGradient whole = differentiate(*make(), input);
      for (const int64_t block : {int64_t{1}, int64_t{7}, batch.size()}) {
        SCOPED_TRACE(block);
        const auto loss = make(", block: " + std::to_string(block));
        const bool in_double = type == at::kDouble;
        expect_same(differentiate(*loss, input), whole,
                    in_double ? 1e-12 : 2e-6, in_double ? 1e-12 : 5e-5);
      }
    }
  }
}

/// With too little memory for all similarities blocks are computed twice.
TEST_P(RowLossTest, LittleMemoryGivesTheSame) {
  std::vector<int64_t> sizes(100, 4);
  sizes.push_back(1);
  const LabelledBatch batch = make_batch(sizes, 8, 3);
  LossInput input = batch.input();
  expect_same(differentiate(*make(", memory_mb: 1"), input),
              differentiate(*make(), input), 1e-12, 1e-12);
  if (!make()->takes_mixed()) return;
  input.mixed = all_pairs(batch, 2);
  expect_same(differentiate(*make(", memory_mb: 1"), input),
              differentiate(*make(), input), 1e-12, 1e-12);
}

TEST_P(RowLossTest, EveryCpuLevelGivesTheSame) {
  const LabelledBatch batch =
      make_batch({5, 1, 8, 3, 2, 1, 6, 4, 1, 2, 3}, 19, 4);
  const auto loss = make();
  const bool can_mix = loss->takes_mixed();
  for (const bool mix : {false, true}) {
    if (mix && !can_mix) continue;
    LossInput wide = batch.input(at::kDouble);
    LossInput narrow = batch.input(at::kFloat);
    if (mix) wide.mixed = narrow.mixed = all_pairs(batch, 2);
    const LossGradient in_double = differentiate(*loss, wide);
    for_each_cpu_level([&] {
      expect_same(differentiate(*loss, wide), in_double, 1e-12, 1e-12);
      expect_same(differentiate(*loss, narrow), in_double, 1e-5, 1e-4);
    });
  }
}

TEST_P(RowLossTest, SinglePrecisionHoldsForManyRows) {
  std::vector<int64_t> sizes(300, 4);
  for (int64_t size : {1, 1, 40, 17, 2}) sizes.push_back(size);
  const LabelledBatch batch = make_batch(sizes, 24, 8);
  const auto loss = make(", block: 500");
  expect_same(differentiate(*loss, batch.input(at::kFloat)),
              differentiate(*loss, batch.input()), 1e-5, 1e-4);
}

TEST_P(RowLossTest, CudaGivesTheSame) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  std::vector<int64_t> sizes(60, 5);
  for (int64_t size : {1, 1, 1, 33, 2}) sizes.push_back(size);
  std::vector<LabelledBatch> batches = random_batches();
  batches.push_back(make_batch(sizes, 24, 9));
  const bool can_mix = make()->takes_mixed();
  for (const LabelledBatch& batch : batches) {
    SCOPED_TRACE(batch.name);
    for (const bool mix : {false, true}) {
      if (mix && !can_mix) continue;
      LossInput input = batch.input();
      if (mix) input.mixed = all_pairs(batch, 2);
      const LossGradient expected = differentiate(*make(), input);
      for (const int64_t block : {0, 7, 100}) {
        SCOPED_TRACE((mix ? "mixed, block " : "block ") +
                     std::to_string(block));
        const auto loss = make(", block: " + std::to_string(block));
        const LossInput there = moved_to(input, at::kCUDA);
        expect_same(differentiate(*loss, there), expected, 1e-10, 1e-9);
        LossInput narrow = there;
        narrow.embeddings = there.embeddings.to(at::kFloat);
        expect_same(differentiate(*loss, narrow), expected, 1e-5, 1e-4);
      }
    }
  }
}

TEST_P(RowLossTest, SaysHowManyRowsItUsed) {
  const LabelledBatch batch = make_batch({3, 1, 2, 1}, 4, 5);
  const auto loss = make();
  const auto stats = (*loss)(batch.input()).stats;
  ASSERT_FALSE(stats.empty());
  if (stats[0].first == "pairs") return;  // not a loss of all rows
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[1].first, stats[0].first + "_without_positives");
  EXPECT_EQ(stats[0].second, 5);
  EXPECT_EQ(stats[1].second, 2);
  LossInput mixed = batch.input();
  mixed.mixed = all_pairs(batch, 1);
  const auto with_virtual = (*loss)(mixed).stats;
  EXPECT_EQ(with_virtual[0].second, 5 + 3 + 1);
  EXPECT_EQ(with_virtual[1].second, 2);
}

TEST_P(RowLossTest, TakesTensorsThatAreNotContiguous) {
  const LabelledBatch batch = make_batch({5, 1, 3, 2}, 6, 6);
  const auto loss = make();
  const LossGradient expected = differentiate(*loss, batch.input());
  LossInput input = batch.input();
  input.embeddings = batch.x.t().contiguous().t();
  input.labels = batch.labels.repeat_interleave(2).slice(0, 0, 2 * batch.size(),
                                                         /*step=*/2);
  ASSERT_FALSE(input.embeddings.is_contiguous());
  ASSERT_FALSE(input.labels.is_contiguous());
  const Tensor x = input.embeddings.detach().requires_grad_();
  input.embeddings = x;
  const Tensor value = (*loss)(input).value;
  value.backward();
  EXPECT_EQ(value.item<double>(), expected.value);
  EXPECT_EQ(max_difference(x.grad(), expected.gradient), 0);
}

INSTANTIATE_TEST_SUITE_P(Losses, RowLossTest, ::testing::ValuesIn(row_losses()),
                         [](const auto& param_info) {
                           return param_info.param;
                         });

}  // namespace
}  // namespace kith
