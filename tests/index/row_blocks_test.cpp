#include "kith/index/row_blocks.h"

#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

TEST(RowsWithin, IsAtLeastOne) {
  EXPECT_EQ(rows_within(2, 1 << 20), 2);
  EXPECT_EQ(rows_within(1, 1 << 30), 1);
  EXPECT_EQ(rows_within(0, 1 << 19), 2);
}

TEST(GatherRows, FromMemoryAndFromAFileAreTheSame) {
  const Tensor x = normalize_rows(random_normal({5000, 64}, 1, torch::kFloat));
  const TempDir dir;
  const std::string path = dir.file("rows.npy");
  save_npy(path, x);
  const Rows file = unit_rows(path, 1, c10::Device(c10::kCPU));
  ASSERT_FALSE(file.in_memory().defined());  // It has 1.2 MB.
  const std::vector<int64_t> positions = {4999, 3, 0, 17, 3, 2500, 18};
  const Tensor expected = x.index_select(0, labels_of(positions));
  EXPECT_TRUE(same_bits(gather_rows(x, positions, 7), expected));
  for (const int64_t block : {1, 7, 10000}) {
    EXPECT_LE(max_difference(gather_rows(file, positions, block), expected),
              1e-6);
  }
  EXPECT_EQ(gather_rows(file, {}, 7).size(0), 0);
}

TEST(ForEachBlock, CoversAllRowsInOrder) {
  const Tensor x = random_normal({10, 2}, 2, torch::kFloat);
  std::vector<Tensor> blocks;
  for_each_block(x, 4, [&](int64_t first, const Tensor& block) {
    EXPECT_EQ(first, static_cast<int64_t>(blocks.size()) * 4);
    blocks.push_back(block);
  });
  EXPECT_EQ(blocks.size(), 3u);
  EXPECT_TRUE(same_bits(torch::cat(blocks), x));
}

}  // namespace
}  // namespace kith
