#include "kith/use/make_index.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/index/stored_index.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "kith/use/change_index.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

class MakeIndexTest : public ::testing::Test {
 protected:
  MakeIndexTest() {
    save_npy(first_, x_.slice(0, 0, 40));
    save_npy(more_, x_.slice(0, 40, 60));
  }

  MadeIndex make() {
    return make_index({.source = {.source = first_}, .out = index_}, at::kCPU);
  }

  /// The names of the k nearest of a row.
  std::vector<std::string> found(int64_t row, int64_t k) {
    const StoredIndex index = StoredIndex::open(index_);
    std::vector<std::string> names;
    const Tensor query = normalize_rows(x_.slice(0, row, row + 1));
    const auto hits = index.search(query, k);
    for (const SearchHit& hit : hits.front()) {
      names.push_back(index.item(hit.position).path);
    }
    return names;
  }

  TempDir dir_;
  std::string first_ = dir_.file("first.npy");
  std::string more_ = dir_.file("more.npy");
  std::string index_ = dir_.file("index.faiss");
  Tensor x_ = [] {
    torch::manual_seed(3);
    return torch::randn({60, 16});
  }();
};

TEST_F(MakeIndexTest, WritesVectorsThatAreFound) {
  const MadeIndex made = make();
  EXPECT_EQ(made.items, 40);
  EXPECT_EQ(made.dim, 16);
  EXPECT_EQ(made.kind, "exact");
  EXPECT_EQ(made.model, "");
  EXPECT_GT(made.bytes, 40 * 16 * 4);
  EXPECT_TRUE(made.recall.empty());
  EXPECT_FALSE(made.shards.has_value());
  EXPECT_THAT(found(7, 1), ElementsAre("7"));
}

TEST_F(MakeIndexTest, TakesNamesAndClasses) {
  std::string ids;
  std::string labels;
  for (int i = 0; i < 40; ++i) {
    ids += "item" + std::to_string(i) + "\n";
    labels += std::to_string(i % 4) + "\n";
  }
  write_file_atomically(dir_.file("ids.txt"), ids);
  write_file_atomically(dir_.file("labels.txt"), labels);
  make_index({.source = {.source = first_,
                         .ids = dir_.file("ids.txt"),
                         .labels = dir_.file("labels.txt")},
              .out = index_},
             at::kCPU);
  EXPECT_THAT(found(7, 1), ElementsAre("item7"));
  EXPECT_EQ(describe_index(index_).classes, 4);
}

TEST_F(MakeIndexTest, TakesAKindWithOptions) {
  const IndexKind kind = index_kind<IvfPqIndex>({.subvectors = 5});
  EXPECT_EQ(kind.name, "ivf_pq");
  // 5 does not divide 16; without faiss there is no such kind.
  EXPECT_THROW(
      make_index({.source = {.source = first_}, .out = index_, .kind = kind},
                 at::kCPU),
      ConfigError);
  expect_error<ConfigError>(
      [] {
        IvfPqIndex({.bits = 3}, {16, 0, 0});
      },
      "ivf_pq.bits", "[4, 12]");
  expect_error<ConfigError>(
      [] {
        HnswIndex({.links = 0}, {16, 0, 0});
      },
      "hnsw.links");
  const IndexKind same =
      index_kind(parse_config("{name: ivf_pq, subvectors: 5}", "here"));
  EXPECT_EQ(same.name, kind.name);
  EXPECT_THROW(index_kind(parse_config("{name: exakt}", "here")), ConfigError);
}

TEST_F(MakeIndexTest, ReplacesOnlyWhatItIsToldTo) {
  make();
  expect_error<ConfigError>([&] { make(); }, index_ + " is there already",
                            "option 'overwrite'", "add_to_index()");
  MakeIndexOptions options{
      .source = {.source = more_}, .out = index_, .overwrite = true};
  EXPECT_EQ(make_index(options, at::kCPU).items, 20);
  options.out = more_;
  expect_error<ConfigError>([&] { make_index(options, at::kCPU); },
                            "is the source too");
  options.out = dir_.path();
  expect_error<ConfigError>([&] { make_index(options, at::kCPU); },
                            "is a folder");
  options.out.clear();
  expect_error<ConfigError>([&] { make_index(options, at::kCPU); },
                            "nothing to make");
}

TEST_F(MakeIndexTest, KeepsTheFolderOfItsPictures) {
  const std::string photos = dir_.file("photos");
  fs::create_directories(photos);
  std::string ids;
  for (int i = 0; i < 40; ++i) {
    const std::string file = photos + "/" + std::to_string(i) + ".png";
    write_file(file, "");
    ids += file + "\n";
  }
  write_file(dir_.file("ids.txt"), ids);
  MakeIndexOptions options{
      .source = {.source = first_, .ids = dir_.file("ids.txt")},
      .out = index_,
      .pictures_root = photos + "/"};
  make_index(options, at::kCPU);
  EXPECT_EQ(describe_index(index_).info.pictures_root, photos);
  // What is made of it, and what changes it, keeps to the folder.
  const std::string copy = dir_.file("copy.faiss");
  make_index({.source = {.source = index_}, .out = copy}, at::kCPU);
  EXPECT_EQ(describe_index(copy).info.pictures_root, photos);
  std::string more;
  for (int i = 0; i < 20; ++i) more += std::to_string(i) + "\n";
  write_file(dir_.file("more.txt"), more);
  expect_error<ConfigError>(
      [&] {
        add_to_index(
            {.index = index_,
             .source = {.source = more_, .ids = dir_.file("more.txt")}},
            at::kCPU);
      },
      "0 is not below " + photos, "option 'pictures_root'");
  remove_from_index({index_, {photos + "/3.png"}, "list"});
  EXPECT_EQ(describe_index(index_).info.pictures_root, photos);
  options.overwrite = true;
  options.pictures_root = photos + "/none";
  expect_error<ConfigError>([&] { make_index(options, at::kCPU); },
                            "no such folder");
}

TEST_F(MakeIndexTest, RefusesOptionsOfOtherSources) {
  expect_error<ConfigError>(
      [&] {
        make_index({.source = {.source = first_, .images = "x"}, .out = index_},
                   at::kCPU);
      },
      "option 'images' goes with a model only");
  make();
  expect_error<ConfigError>(
      [&] {
        make_index({.source = {.source = index_, .ids = "x"},
                    .out = dir_.file("other")},
                   at::kCPU);
      },
      "option 'ids' goes with embeddings");
}

TEST_F(MakeIndexTest, ExportsShardsAlone) {
  const MadeIndex made = make_index({.source = {.source = first_},
                                     .export_to = dir_.file("shards"),
                                     .shard_rows = 15,
                                     .half = false},
                                    at::kCPU);
  ASSERT_TRUE(made.shards.has_value());
  EXPECT_EQ(made.shards->shards, 3);
  EXPECT_EQ(made.bytes, 0);
  EXPECT_FALSE(fs::exists(index_));
  EXPECT_TRUE(fs::exists(dir_.file("shards") + "/manifest.json"));
}

TEST_F(MakeIndexTest, IsChanged) {
  make();
  // Names go on where those of the index end.
  AddedToIndex added =
      add_to_index({.index = index_, .source = {.source = more_}}, at::kCPU);
  EXPECT_EQ(added.added, 20);
  EXPECT_EQ(added.replaced, 0);
  EXPECT_EQ(added.items, 60);
  EXPECT_THAT(found(41, 1), ElementsAre("41"));

  const RemovedFromIndex left =
      remove_from_index({.index = index_, .names = {"41", "", "none", "3"}});
  EXPECT_EQ(left.removed, 2);
  EXPECT_EQ(left.not_there, 1);
  EXPECT_EQ(left.items, 58);
  EXPECT_NE(found(41, 1).front(), "41");
  expect_error<DataError>(
      [&] { remove_from_index({.index = index_, .names = {"none"}}); },
      "the list: none of its 1 names is in " + index_);

  const IndexSummary summary = describe_index(index_, /*check=*/true);
  EXPECT_EQ(summary.items, 58);
  EXPECT_EQ(summary.removed, 2);
  EXPECT_EQ(summary.dim, 16);
  EXPECT_EQ(summary.info.kind, "exact");
  EXPECT_TRUE(summary.whole.value());
}

TEST_F(MakeIndexTest, PutsNewVectorsInThePlaceOfOldOnes) {
  make();
  write_file_atomically(dir_.file("ids.txt"), [] {
    std::string lines;
    for (int i = 0; i < 20; ++i) lines += std::to_string(30 + i) + "\n";
    return lines;
  }());
  AddToIndexOptions options{
      .index = index_,
      .source = {.source = more_, .ids = dir_.file("ids.txt")}};
  expect_error<ConfigError>([&] { add_to_index(options, at::kCPU); },
                            "10 of 20 items are in " + index_,
                            "option 'replace'");
  options.replace = true;
  const AddedToIndex added = add_to_index(options, at::kCPU);
  EXPECT_EQ(added.replaced, 10);
  EXPECT_EQ(added.items, 50);
  EXPECT_THAT(found(40, 1), ElementsAre("30"));
}

TEST_F(MakeIndexTest, IsMissing) {
  expect_error<DataError>(
      [&] {
        add_to_index({.index = index_, .source = {.source = more_}}, at::kCPU);
      },
      index_ + ": no such file");
  EXPECT_THROW(remove_from_index({.index = index_, .names = {"1"}}), DataError);
}

}  // namespace
}  // namespace kith
