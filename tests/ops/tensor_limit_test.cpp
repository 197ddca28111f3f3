#include "kith/ops/tensor_limit.h"

#include <cstdint>
#include <thread>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/tensor.h"
#include "kith/ops/kept_memory.h"

namespace kith {
namespace {

Tensor bytes_of(int64_t count) { return torch::empty({count}, torch::kByte); }

TEST(TensorLimit, HoldsForAllTensorsTogether) {
  const TensorLimit limit(1000, "too much");
  for (int i = 0; i < 4; ++i) bytes_of(200);  // also where they are gone again
  EXPECT_THROW(bytes_of(201), DataError);
  EXPECT_THROW(torch::empty({int64_t{1} << 50}, torch::kByte), DataError);
  bytes_of(200);
  EXPECT_THROW(bytes_of(1), DataError);
}

TEST(TensorLimit, HoldsForItsThreadWhileItLives) {
  {
    const TensorLimit limit(10, "too much");
    std::thread([] { EXPECT_EQ(bytes_of(100).numel(), 100); }).join();
    {
      const TensorLimit inner(100, "too much");
      EXPECT_EQ(bytes_of(100).numel(), 100);
    }
    EXPECT_THROW(bytes_of(100), DataError);
  }
  EXPECT_EQ(bytes_of(100).numel(), 100);
}

TEST(TensorLimit, GoesWithMemoryThatIsKept) {
  constexpr int64_t kMany = 4 << 20;
  const KeptMemory kept;
  const TensorLimit limit(3 * kMany / 2, "too much");
  EXPECT_EQ(bytes_of(kMany).numel(), kMany);
  EXPECT_THROW(bytes_of(kMany), DataError);
}

}  // namespace
}  // namespace kith
