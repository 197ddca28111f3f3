// Several ranks embed what one does, to the bit.
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/embed_blocks.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "tests/eval/fixed_net.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/embedded_set.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/rank_threads.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

/// Grey pictures of noise in two shapes.
class TwoShapes final : public DataSet {
 public:
  explicit TwoShapes(int64_t count) {
    list_.items = paired_items(count, Split::kTest);
  }

 protected:
  StoredImage read(int64_t index) const override {
    Image image(index % 3 == 0 ? 24 : 40, index % 3 == 0 ? 40 : 24, 1);
    Rng rng(7, Stream::kReport, {index});
    for (uint8_t& pixel : image.pixels) {
      pixel = static_cast<uint8_t>(rng.below(256));
    }
    return image;
  }
};

std::vector<int64_t> first_images(int64_t count) {
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.rbegin(), indices.rend(), 0);  // not in the list's order
  return indices;
}

Tensor embed_alone(const DataSet& data, int64_t count, EmbedOptions options) {
  EmbeddingNet net = fixed_net();
  return embed(net, data, first_images(count), options, silent_progress());
}

void expect_embeds_as_one(const DataSet& data, int64_t count,
                          const EmbedOptions& options) {
  const Tensor alone = embed_alone(data, count, options);
  ASSERT_EQ(alone.size(0), count);
  for (const int64_t size : kRankCounts) {
    const auto found = on_ranks<Tensor>(size, [&](Communicator& ranks) {
      EmbedOptions together = options;
      together.ranks = &ranks;
      return embed_alone(data, count, together);
    });
    for (const Tensor& own : found) {
      EXPECT_TRUE(same_bits(own, alone)) << size << " ranks, " << count;
    }
  }
}

TEST(EmbedRanks, GiveTheBitsOfOneRank) {
  const MemorySet data(paired_items(23, Split::kTest));
  // One batch, batches that end evenly or not, fewer batches than ranks.
  for (const int64_t count : {1, 4, 5, 8, 23}) {
    expect_embeds_as_one(data, count, {4, {2, 2}});
  }
  EmbedOptions pooled{3, {2, 2}};
  pooled.pooled = true;
  expect_embeds_as_one(data, 14, pooled);
}

TEST(EmbedRanks, GiveTheBitsOfOneRankOfPicturesOfManySizes) {
  const TwoShapes data(17);
  EmbedOptions options{4, {2, 2}};
  options.descriptor.scales = {1, 0.5};
  options.descriptor.flip = true;
  for (const int64_t count : {2, 17}) {
    expect_embeds_as_one(data, count, options);
  }
  options.descriptor.long_side = 30;
  expect_embeds_as_one(data, 17, options);
}

TEST(EmbedRanks, AgreeOnBatchesWhateverTheirThreads) {
  const TwoShapes data(17);
  EmbedOptions options{1, {1, 2}};
  options.descriptor.flip = true;
  const Tensor alone = embed_alone(data, 17, options);
  const auto found = on_ranks<Tensor>(3, [&](Communicator& ranks) {
    EmbedOptions together = options;
    together.ranks = &ranks;
    together.batch = 1 + ranks.rank();
    return embed_alone(data, 17, together);
  });
  for (const Tensor& own : found) {
    EXPECT_LE(max_difference(own, alone), 1e-6);
  }
}

TEST(EmbedRanks, WhitenAsOneRank) {
  const MemorySet data(paired_items(40, Split::kTest));
  EmbedOptions options{3, {1, 2}};
  const Whitening whitening =
      Whitening::learn(normalize_rows(embed_alone(data, 40, options)), 4);
  options.whitening = &whitening;
  expect_embeds_as_one(data, 40, options);
}

TEST(EmbedRanks, SharesAreTheRowsOneAfterTheOther) {
  const MemorySet data(paired_items(23, Split::kTest));
  const EmbedOptions options{4, {2, 2}};
  const Tensor alone = embed_alone(data, 23, options);
  for (const int64_t size : kRankCounts) {
    const auto shares = on_ranks<EmbeddedShare>(size, [&](Communicator& ranks) {
      EmbedOptions together = options;
      together.ranks = &ranks;
      EmbeddingNet net = fixed_net();
      return embed_share(net, data, first_images(23), together,
                         silent_progress());
    });
    int64_t next = 0;
    std::vector<Tensor> rows;
    for (const EmbeddedShare& share : shares) {
      EXPECT_EQ(share.first, next);
      next += share.rows.size(0);
      rows.push_back(share.rows);
    }
    EXPECT_TRUE(same_bits(torch::cat(rows), alone));
  }
}

TEST(EmbedRanks, TheFirstWritesTheFileOfOneRank) {
  const MemorySet data(paired_items(70, Split::kTest));
  EmbedOptions options{1, {2, 2}};  // blocks of 32 images
  const Whitening whitening =
      Whitening::learn(normalize_rows(embed_alone(data, 70, options)), 4);
  const TempDir folder;
  for (const bool whitened : {false, true}) {
    if (whitened) options.whitening = &whitening;
    const auto write = [&](const std::string& name, Communicator* ranks) {
      EmbedOptions together = options;
      together.ranks = ranks;
      EmbeddingNet net = fixed_net();
      embed_to_file(net, data, first_images(70), together, silent_progress(),
                    folder.file(name));
    };
    write("alone.npy", nullptr);
    for (const int64_t size : kRankCounts) {
      for (const std::string& error :
           errors_of_ranks(size, [&](Communicator& ranks) {
             write("together" + std::to_string(ranks.rank()) + ".npy", &ranks);
           })) {
        EXPECT_EQ(error, "");
      }
      EXPECT_TRUE(same_bits(load_npy(folder.file("together0.npy")),
                            load_npy(folder.file("alone.npy"))));
      EXPECT_FALSE(std::filesystem::exists(folder.file("together1.npy")));
    }
  }
}

TEST(EmbedRanks, AnImageThatOneRankCannotReadEndsAll) {
  GlyphList data(std::vector<int64_t>(20, 1));
  data.damage(13);
  for (const int64_t size : {1, 2, 3, 8}) {
    for (const std::string& error :
         errors_of_ranks(size, [&](Communicator& ranks) {
           EmbedOptions options{2, {2, 2}};
           options.ranks = &ranks;
           embed_alone(data, 20, options);
         })) {
      EXPECT_THAT(error, HasSubstr("13.png: damaged")) << size;
    }
  }
}

TEST(EmbedRanks, ABrokenNetworkOfOneRankEndsAll) {
  const MemorySet data(paired_items(20, Split::kTest));
  for (const std::string& error : errors_of_ranks(3, [&](Communicator& ranks) {
         EmbeddingNet net = fixed_net();
         if (ranks.rank() == 1) {
           const torch::NoGradGuard no_grad;
           for (auto& [name, tensor] : net.state()) {
             if (name.ends_with("head.linear.bias")) tensor.fill_(NAN);
           }
         }
         EmbedOptions options{2, {1, 2}};
         options.ranks = &ranks;
         embed(net, data, first_images(20), options, silent_progress());
       })) {
    EXPECT_THAT(error, HasSubstr("NaN or infinite"));
  }
}

/// Counts, and stops the work when it is told of `last`.
struct Stopper final : Progress {
  struct Stop {};
  explicit Stopper(bool stops) : stops_(stops) {}

  void start(const std::string&, int64_t total) override { total_ = total; }
  void advance(int64_t done, const std::string&) override {
    EXPECT_THAT(done, AllOf(Ge(done_), Le(total_)));
    done_ = done;
    if (stops_ && done > 5) throw Stop();
  }
  void finish() override { EXPECT_EQ(done_, total_); }

  bool stops_;
  int64_t total_ = 0;
  int64_t done_ = 0;
};

TEST(EmbedRanks, AStopOnOneRankEndsAll) {
  const MemorySet data(paired_items(40, Split::kTest));
  const std::vector<std::string> errors =
      errors_of_ranks(4, [&](Communicator& ranks) {
        EmbeddingNet net = fixed_net();
        EmbedOptions options{3, {1, 2}};
        options.ranks = &ranks;
        Stopper progress(ranks.rank() == 2);
        embed(net, data, first_images(40), options, progress);
      });
  for (size_t r = 0; r < errors.size(); ++r) {
    EXPECT_THAT(errors[r], HasSubstr(r == 2 ? "unknown" : "stopped"));
  }
}

TEST(EmbedRanks, ProgressIsOfAllImages) {
  const MemorySet data(paired_items(41, Split::kTest));
  for (const int64_t size : kRankCounts) {
    on_ranks<bool>(size, [&](Communicator& ranks) {
      EmbeddingNet net = fixed_net();
      EmbedOptions options{3, {1, 2}};
      options.ranks = &ranks;
      Stopper progress(false);
      embed(net, data, first_images(41), options, progress);
      EXPECT_EQ(progress.total_, 41);
      return true;
    });
  }
}

}  // namespace
}  // namespace kith
