#include "kith/eval/embed_blocks.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <limits>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/embed_times.h"
#include "kith/io/tensor_io.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/memory_set.h"

namespace kith {
namespace {

using ::testing::ElementsAre;

class EmbedBlocks : public ::testing::Test {
 protected:
  EmbedBlocks()
      : net_(complete_model(parse_config(
            "{input: {size: 16}, backbone: {name: convnet, width: 4}, "
            "head: {dim: 6}}",
            "test"))),
        data_(paired_items(70, Split::kTest)),
        all_(70) {
    std::iota(all_.begin(), all_.end(), 0);
  }

  /// Blocks of 8 images.
  EmbedOptions options_{1, {2, 2}};
  EmbeddingNet net_;
  MemorySet data_;
  std::vector<int64_t> all_;
};

/// Remembers what it was told.
struct Told final : Progress {
  std::vector<int64_t> totals;
  std::vector<int64_t> counts;
  int finished = 0;

  void start(const std::string&, int64_t total) override {
    totals.push_back(total);
  }
  void advance(int64_t done, const std::string&) override {
    counts.push_back(done);
  }
  void finish() override { ++finished; }
};

TEST_F(EmbedBlocks, TogetherAreWhatEmbedGives) {
  std::vector<Tensor> blocks;
  std::vector<int64_t> sizes;
  Told progress;
  embed_in_blocks(net_, data_, all_, options_, progress,
                  [&](const Tensor& rows) {
                    blocks.push_back(rows);
                    sizes.push_back(rows.size(0));
                  });
  EXPECT_THAT(sizes, ElementsAre(8, 8, 8, 8, 8, 8, 8, 8, 6));
  const Tensor whole = embed(net_, data_, all_, options_, silent_progress());
  EXPECT_TRUE(torch::equal(torch::cat(blocks), whole));
  EXPECT_THAT(progress.totals, ElementsAre(70)) << "one bar for all blocks";
  EXPECT_EQ(progress.finished, 1);
  std::vector<int64_t> each(70);
  std::iota(each.begin(), each.end(), 1);
  EXPECT_EQ(progress.counts, each);
}

/// Whoever takes a block may be slow: the next one is embedded meanwhile, and
/// no more.
TEST_F(EmbedBlocks, AreTakenWhileTheNextIsEmbedded) {
  struct Counting final : Progress {
    std::atomic<int64_t> done = 0;
    void start(const std::string&, int64_t) override {}
    void advance(int64_t now, const std::string&) override { done = now; }
    void finish() override {}
  } progress;
  EmbedTimes times;
  options_.times = &times;
  int64_t taken = 0;
  embed_in_blocks(net_, data_, all_, options_, progress,
                  [&](const Tensor& rows) {
                    taken += rows.size(0);
                    const int64_t wanted = std::min<int64_t>(taken + 8, 70);
                    while (progress.done < wanted) std::this_thread::yield();
                    EXPECT_LE(progress.done, wanted);
                  });
  EXPECT_EQ(taken, 70);
  EXPECT_EQ(times.images, 70);
  EXPECT_LE(times.writing, times.seconds);
}

TEST_F(EmbedBlocks, AreNotTakenOnceThatFailed) {
  int64_t calls = 0;
  const auto fail = [&](const Tensor&) {
    if (++calls == 2) throw RunError("the disk is full");
  };
  expect_error<RunError>(
      [&] {
        embed_in_blocks(net_, data_, all_, options_, silent_progress(), fail);
      },
      "the disk is full");
  EXPECT_EQ(calls, 2);
}

TEST_F(EmbedBlocks, WritesThemToAFile) {
  const TempDir folder;
  const std::string path = folder.file("rows.npy");
  embed_to_file(net_, data_, all_, options_, silent_progress(), path);
  EXPECT_TRUE(torch::equal(
      load_npy(path), embed(net_, data_, all_, options_, silent_progress())));
}

TEST_F(EmbedBlocks, RefusesEmbeddingsThatAreNotFinite) {
  const TempDir folder;
  {
    const torch::NoGradGuard no_grad;
    for (auto& [name, tensor] : net_.state()) {
      if (tensor.is_floating_point()) {
        tensor.fill_(std::numeric_limits<float>::quiet_NaN());
      }
    }
  }
  const std::string path = folder.file("rows.npy");
  options_.network = "old.safetensors";
  expect_error<RunError>(
      [&] {
        embed_to_file(net_, data_, {5, 6}, options_, silent_progress(), path);
      },
      data_.list().items[5].path, "NaN", "old.safetensors", "optimizer.lr");
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace kith
