#include "kith/train/cross_batch_memory.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// A batch whose embeddings are all `value`, with labels from `first` on.
std::pair<Tensor, Tensor> batch_of(int64_t count, double value, int64_t first) {
  return {torch::full({count, 2}, value), torch::arange(first, first + count)};
}

void push(CrossBatchMemory& memory, int64_t count, double value,
          int64_t first) {
  const auto [embeddings, labels] = batch_of(count, value, first);
  memory.push(embeddings, labels);
}

/// The labels in the queue, sorted.
std::vector<int64_t> held(const CrossBatchMemory& memory) {
  const Tensor none = torch::empty({0}, torch::kLong);
  const Database all = memory.with(torch::empty({0, 2}), none);
  const Tensor labels = std::get<0>(all.labels.sort());
  return {labels.data_ptr<int64_t>(),
          labels.data_ptr<int64_t>() + labels.numel()};
}

TEST(CrossBatchMemory, NewEmbeddingsTakeThePlaceOfTheOldest) {
  CrossBatchMemory memory(5, 2, c10::kCPU);
  EXPECT_EQ(memory.count(), 0);
  push(memory, 3, 1, 10);
  EXPECT_EQ(held(memory), (std::vector<int64_t>{10, 11, 12}));
  push(memory, 3, 2, 20);
  EXPECT_EQ(held(memory), (std::vector<int64_t>{11, 12, 20, 21, 22}));
  push(memory, 4, 3, 30);
  EXPECT_EQ(held(memory), (std::vector<int64_t>{22, 30, 31, 32, 33}));
  push(memory, 7, 4, 40);  // larger than the queue: its end
  EXPECT_EQ(held(memory), (std::vector<int64_t>{42, 43, 44, 45, 46}));
}

TEST(CrossBatchMemory, StandsBehindTheBatch) {
  CrossBatchMemory memory(4, 2, c10::kCPU);
  push(memory, 2, 1, 7);
  const auto [embeddings, labels] = batch_of(3, 5, 0);
  const Database database = memory.with(embeddings, labels);
  EXPECT_TRUE(torch::equal(
      database.embeddings,
      torch::cat({torch::full({3, 2}, 5.), torch::full({2, 2}, 1.)})));
  EXPECT_TRUE(torch::equal(database.labels, labels_of({0, 1, 2, 7, 8})));
  EXPECT_TRUE(torch::equal(database.self, labels_of({0, 1, 2})));
}

/// The state is live: what is copied into it is what the queue holds.
TEST(CrossBatchMemory, ContinuesFromItsState) {
  CrossBatchMemory first(5, 2, c10::kCPU);
  push(first, 3, 1, 10);
  push(first, 3, 2, 20);
  CrossBatchMemory second(5, 2, c10::kCPU);
  const NamedTensors from = first.state();
  NamedTensors to = second.state();
  for (size_t i = 0; i < from.size(); ++i) {
    to[i].second.copy_(from[i].second);
  }
  push(first, 2, 3, 30);
  push(second, 2, 3, 30);
  EXPECT_EQ(held(second), held(first));
}

/// Every loss that takes a database: rows of the batch against columns of batch
/// and memory. Old embeddings get no gradient; those of the batch get what they
/// are due as rows and as columns.
TEST(CrossBatchMemory, GradientsFlowToTheBatchAlone) {
  const Tensor labels = labels_of({0, 0, 1, 1, 2, 2});
  const Tensor old = normalize_rows(random_normal({6, 4}, 1));
  CrossBatchMemory memory(6, 4, c10::kCPU);
  memory.push(old.to(at::kFloat), labels);
  for (const std::string& name : loss_registry().names()) {
    SCOPED_TRACE(name);
    const auto loss = make_loss("{name: " + name + "}", {3, 4, 0});
    if (!loss->takes_database()) continue;
    const Tensor x = normalize_rows(random_normal({6, 4}, 2));
    const auto value_at = [&](const Tensor& at) {
      LossInput input;
      input.embeddings = at;
      input.labels = labels;
      input.database = memory.with(at, labels);
      return (*loss)(input).value;
    };
    const Tensor live = x.clone().requires_grad_();
    const Tensor value = value_at(live);
    value.backward();
    if (!loss->gradient_is_derivative()) continue;
    const double scale = live.grad().abs().max().item<double>();
    for (uint64_t seed = 3; seed < 6; ++seed) {
      const Tensor direction = random_normal({6, 4}, seed);
      constexpr double kStep = 1e-6;
      const double slope =
          (value_at(x + kStep * direction) - value_at(x - kStep * direction))
              .item<double>() /
          (2 * kStep);
      EXPECT_NEAR(slope, (live.grad() * direction).sum().item<double>(),
                  1e-5 * scale + 1e-9);
    }
  }
}

}  // namespace
}  // namespace kith
