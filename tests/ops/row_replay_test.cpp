#include "kith/ops/row_replay.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/losses/rows/nt_xent.h"
#include "kith/losses/rows/recall_at_k.h"
#include "tests/support/torch/batches.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// `classes` of `per_class` unit vectors each, in an order of their own.
RowInput shuffled_batch(int64_t classes, int64_t per_class, uint64_t seed,
                        c10::Device device) {
  const int64_t count = classes * per_class;
  RowInput input;
  input.rows = random_normal({count, 16}, seed).to(torch::kFloat);
  input.rows = (input.rows / input.rows.norm(2, 1, true)).to(device);
  torch::manual_seed(seed);
  input.row_labels = torch::arange(classes)
                         .repeat_interleave(per_class)
                         .index_select(0, torch::randperm(count))
                         .to(device);
  return input;
}

template <class Params>
void expect_same(const Params& params, bool euclidean, c10::Device device) {
  RowLoss loss = make_row_loss(params);
  loss.euclidean = euclidean;
  RowReplay replay(/*always=*/true);
  for (uint64_t step = 0; step < 8; ++step) {
    const RowInput input = shuffled_batch(12, 4, step, device);
    const RowOutput usual = run_rows(loss, input, {}, true);
    const RowOutput ours = replay.run(loss, input, {});
    EXPECT_TRUE(same_bits(ours.value, usual.value)) << step;
    EXPECT_TRUE(same_bits(ours.row_gradient, usual.row_gradient)) << step;
    EXPECT_EQ(ours.rows, usual.rows);
    EXPECT_EQ(ours.without_positives, usual.without_positives);
  }
  EXPECT_EQ(replay.replays(), 5);  // two usual ones, and the one recorded
}

TEST(RowReplay, GivesTheSameBits) {
  expect_same(RecallAtKParams{.t2 = 0.1}, false, at::kCPU);
  expect_same(NtXentParams{}, false, at::kCPU);
  expect_same(NtXentParams{}, true, at::kCPU);
}

TEST(RowReplay, GivesTheSameBitsOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  expect_same(RecallAtKParams{.t2 = 0.1}, false, at::kCUDA);
  expect_same(NtXentParams{}, false, at::kCUDA);
  expect_same(NtXentParams{}, true, at::kCUDA);
}

/// What a batch gave stays as it is when the next one comes.
TEST(RowReplay, GivesTensorsOfItsOwn) {
  const RecallAtKParams params{.t2 = 0.1};
  const RowLoss loss = make_row_loss(params);
  RowReplay replay(/*always=*/true);
  RowOutput kept;
  Tensor gradient;
  for (uint64_t step = 0; step < 5; ++step) {
    const RowOutput output =
        replay.run(loss, shuffled_batch(6, 4, step, at::kCPU), {});
    if (step == 3) {
      kept = output;
      gradient = output.row_gradient.clone();
    }
  }
  EXPECT_TRUE(same_bits(kept.row_gradient, gradient));
}

/// Classes of other sizes have other tables; what was recorded waits for
/// batches of its kind.
TEST(RowReplay, LeavesOtherBatchesToTheUsualWay) {
  const RecallAtKParams params{.t2 = 0.1};
  const RowLoss loss = make_row_loss(params);
  RowReplay replay(/*always=*/true);
  const auto step = [&](int64_t classes, int64_t per_class, uint64_t seed) {
    const RowInput input = shuffled_batch(classes, per_class, seed, at::kCPU);
    EXPECT_TRUE(same_bits(replay.run(loss, input, {}).row_gradient,
                          run_rows(loss, input, {}, true).row_gradient));
    return replay.replays();
  };
  for (uint64_t n = 0; n < 4; ++n) step(12, 4, n);
  EXPECT_EQ(replay.replays(), 1);
  EXPECT_EQ(step(16, 3, 5), 1);  // as many rows, smaller classes
  EXPECT_EQ(step(12, 4, 6), 2);
  RowInput other = shuffled_batch(12, 4, 7, at::kCPU);
  other.columns = other.rows.clone();
  other.column_labels = other.row_labels.clone();
  replay.run(loss, other, {});
  EXPECT_EQ(replay.replays(), 2);
}

TEST(RowReplay, OfALossTrainsTheSameOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  for (const char* products : {"float32", "tf32", "float16", "bf16_split"}) {
    const auto make = [&] {
      return loss_registry().make(
          parse_config("{name: recall_at_k, t2: 0.05, products: " +
                           std::string(products) + "}",
                       "test"),
          "loss", {});
    };
    const auto loss = make();
    for (uint64_t step = 0; step < 6; ++step) {
      const RowInput input = shuffled_batch(64, 4, step, at::kCUDA);
      const auto gradient = [&](const Loss& of) {
        Tensor x = input.rows.detach().clone().requires_grad_();
        of(x, input.row_labels).value.backward();
        return x.grad();
      };
      EXPECT_TRUE(same_bits(gradient(*loss), gradient(*make())))
          << products << " " << step;
    }
  }
}

}  // namespace
}  // namespace kith
