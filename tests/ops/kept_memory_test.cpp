#include "kith/ops/kept_memory.h"

#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/tensor.h"

namespace kith {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

Tensor megabytes(int64_t count) {
  return torch::empty({count * kMegabyte}, torch::kByte);
}

TEST(KeptMemory, GivesABlockToTheNextTensorOfItsSize) {
  const KeptMemory kept;
  const void* block = megabytes(8).data_ptr();
  EXPECT_EQ(kept_bytes(), 8 * kMegabyte);
  const Tensor again = torch::empty({8 * kMegabyte - 1000}, torch::kByte);
  EXPECT_EQ(again.data_ptr(), block);
  EXPECT_EQ(kept_bytes(), 0);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
}

TEST(KeptMemory, LeavesABlockThatIsTooSmallOrFarTooLarge) {
  const KeptMemory kept;
  const Tensor room = megabytes(40);  // so that nothing is too much
  megabytes(8);
  const Tensor larger = megabytes(9);
  const Tensor smaller = megabytes(7);
  EXPECT_EQ(kept_bytes(), 8 * kMegabyte);
  const Tensor fits = torch::empty({15 * kMegabyte / 2}, torch::kByte);
  EXPECT_EQ(kept_bytes(), 0);
}

TEST(KeptMemory, HoldsAtMostHalfAsMuchAgainAsWasInUse) {
  const KeptMemory kept;
  for (int64_t size = 10; size <= 20; ++size) {
    megabytes(size).fill_(1);
    EXPECT_LE(kept_bytes(), size * kMegabyte * 3 / 2);
  }
  const Tensor in_use = megabytes(16);
  EXPECT_LE(kept_bytes(), 14 * kMegabyte);
}

TEST(KeptMemory, EndsWithTheLastOneAndTensorsOutliveIt) {
  Tensor tensor;
  std::optional<KeptMemory> outer(std::in_place);
  {
    const KeptMemory inner;
    tensor = megabytes(4).fill_(3);
    megabytes(2);
  }
  EXPECT_EQ(kept_bytes(), 2 * kMegabyte);
  outer.reset();
  EXPECT_EQ(kept_bytes(), 0);
  EXPECT_EQ(tensor[4 * kMegabyte - 1].item<int64_t>(), 3);
  tensor.reset();
  EXPECT_EQ(kept_bytes(), 0);
  megabytes(4);
  EXPECT_EQ(kept_bytes(), 0);
}

TEST(KeptMemory, DividesALargeBlockAndJoinsItsParts) {
  const KeptMemory kept;
  char* block = static_cast<char*>(megabytes(20).data_ptr());
  {
    const Tensor first = megabytes(12);  // another block would be too much
    const Tensor second = megabytes(8);
    EXPECT_EQ(first.data_ptr(), block);
    EXPECT_EQ(second.data_ptr(), block + 12 * kMegabyte);
    EXPECT_EQ(kept_bytes(), 0);
  }
  EXPECT_EQ(kept_bytes(), 20 * kMegabyte);
  EXPECT_EQ(megabytes(20).data_ptr(), block);
}

TEST(KeptMemory, ThreadsNeverShareMemory) {
  std::optional<KeptMemory> kept(std::in_place);
  std::vector<std::thread> threads;
  std::vector<int64_t> wrong(3);
  for (int64_t t = 0; t < 3; ++t) {
    threads.emplace_back([t, &wrong] {
      std::vector<Tensor> held(4);
      for (int64_t i = 0; i < 100; ++i) {
        Tensor& one = held[static_cast<size_t>(i * i % 4)];
        const int64_t value = (3 * i + t) % 251;
        if (one.defined()) {
          wrong[static_cast<size_t>(t)] += one.ne(one[0]).sum().item<int64_t>();
        }
        one = megabytes(1 + (7 * i + t) % 9).fill_(value);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int64_t>(3));
  kept.reset();
  EXPECT_EQ(kept_bytes(), 0);
}

}  // namespace
}  // namespace kith
