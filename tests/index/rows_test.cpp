#include "kith/index/rows.h"

#include <limits>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

TEST(Rows, OfATensorAreViewsOfIt) {
  const Tensor x = random_normal({10, 3}, 1, at::kFloat);
  const Rows rows(x);
  EXPECT_EQ(rows.count(), 10);
  EXPECT_EQ(rows.dim(), 3);
  EXPECT_EQ(rows.read(4, 2).data_ptr<float>(), x.data_ptr<float>() + 12);
  EXPECT_TRUE(rows.same_as(Rows(rows)));
  EXPECT_FALSE(rows.same_as(Rows(x)));
  EXPECT_FALSE(Rows().defined());
  EXPECT_FALSE(Rows(Tensor()).defined());
  EXPECT_THROW(Rows(torch::zeros({3})), c10::ValueError);
  EXPECT_THROW(Rows(torch::zeros({3, 0})), c10::ValueError);
}

TEST(UnitRows, AreTheSameInMemoryAndInBlocks) {
  const TempDir folder;
  for (const auto type : {at::kHalf, at::kFloat, at::kDouble}) {
    const Tensor x = random_normal({50, 8}, 2).to(type);
    save_npy(folder.file("x.npy"), x);
    const Rows whole = unit_rows(folder.file("x.npy"), 1, at::kCPU);
    const Rows blocks = unit_rows(folder.file("x.npy"), 0, at::kCPU);
    EXPECT_TRUE(whole.in_memory().defined());
    EXPECT_FALSE(blocks.in_memory().defined());
    // Scaled in double if that is the file's type, which may hold more.
    const Tensor wide = type == at::kHalf ? x.to(at::kFloat) : x;
    EXPECT_TRUE(
        same_bits(whole.read(0, 50), normalize_rows(wide).to(at::kFloat)));
    EXPECT_TRUE(same_bits(blocks.read(13, 20), whole.read(13, 20)));
    EXPECT_EQ(blocks.read(50, 0).size(0), 0);
  }
}

TEST(UnitRows, RefuseWhatAreNoEmbeddings) {
  const TempDir folder;
  const std::string path = folder.file("x.npy");
  const auto refused = [&](const Tensor& x, const auto&... parts) {
    save_npy(path, x);
    expect_error<DataError>([&] { unit_rows(path, 1, at::kCPU); }, path,
                            parts...);
  };
  refused(torch::ones({3}), "[N, D]", "f32 (3,)");
  refused(torch::ones({3, 2}, at::kLong), "floating point", "i64");
  refused(torch::ones({0, 2}), "[N, D]");
  Tensor x = torch::ones({5, 2});
  x[3][1] = std::numeric_limits<float>::quiet_NaN();
  refused(x, "row 3", "NaN");
  const Rows blocks = unit_rows(path, 0, at::kCPU);
  EXPECT_EQ(blocks.read(0, 3).size(0), 3);
  expect_error<DataError>([&] { blocks.read(2, 3); }, path, "row 3");
}

}  // namespace
}  // namespace kith
