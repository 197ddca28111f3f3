#include "kith/index/stored_index.h"

#include <filesystem>
#include <random>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/index/index_files.h"
#include "kith/index/kinds.h"
#include "kith/ops/pairwise.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr int64_t kCount = 40;

std::vector<IndexItem> items_of(int64_t first, int64_t count) {
  std::vector<IndexItem> items;
  for (int64_t i = first; i < first + count; ++i) {
    items.push_back({"image " + std::to_string(i) + ".png",
                     "class " + std::to_string(i % 8)});
  }
  return items;
}

class StoredIndexTest : public ::testing::Test {
 protected:
  StoredIndex make(std::vector<IndexItem> items = items_of(0, kCount)) {
    auto index = std::make_unique<ExactIndex>(8);
    index->add(x_.slice(0, 0, static_cast<int64_t>(items.size())));
    return StoredIndex(std::move(index), items,
                       {"exact", "runs/a", "abc", {{"1@1", 0.5}}, {}});
  }

  static std::vector<int64_t> positions(const std::vector<SearchHit>& hits) {
    std::vector<int64_t> found;
    for (const SearchHit& hit : hits) found.push_back(hit.position);
    return found;
  }

  std::vector<int64_t> find(const StoredIndex& index, int64_t query, int64_t k,
                            const std::function<bool(int64_t)>& keep = {}) {
    return positions(index.search(x_.slice(0, query, query + 1), k, keep)[0]);
  }

  TempDir folder_;
  std::string path_ = folder_.file("photos.faiss");
  Tensor x_ = normalize_rows(random_normal({2 * kCount, 8}, 1, at::kFloat));
};

TEST_F(StoredIndexTest, KeepsItsThreshold) {
  make().save(path_);
  EXPECT_FALSE(StoredIndex::open(path_).info().threshold);
  auto exact = std::make_unique<ExactIndex>(8);
  exact->add(x_.slice(0, 0, kCount));
  IndexInfo info{"exact", "runs/a", "abc", {}, {}};
  info.threshold = IndexThreshold{0.625, "far=0.01"};
  StoredIndex(std::move(exact), items_of(0, kCount), info).save(path_);
  StoredIndex index = StoredIndex::open(path_);
  ASSERT_TRUE(index.info().threshold);
  EXPECT_EQ(index.info().threshold->value, 0.625);
  EXPECT_EQ(index.info().threshold->wanted, "far=0.01");
  EXPECT_TRUE(index.info().threshold->accepts(0.625F));
  EXPECT_FALSE(index.info().threshold->accepts(0.62499F));
  index.remove({"image 3.png"});
  index.save(path_);
  EXPECT_EQ(StoredIndex::open(path_).info().threshold->value, 0.625);
}

TEST_F(StoredIndexTest, IsReadAsItWasWritten) {
  auto items = items_of(0, kCount);
  items[0] = {"a, \"quoted\"\nname.png", "two, words"};
  items[1] = {" spaces ", ""};
  items[2] = {"", ""};
  make(items).save(path_);
  const StoredIndex index = StoredIndex::open(path_);
  EXPECT_EQ(index.size(), kCount);
  EXPECT_EQ(index.count(), kCount);
  EXPECT_EQ(index.dim(), 8);
  for (int64_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(index.item(i).path, items[static_cast<size_t>(i)].path);
    EXPECT_EQ(index.item(i).label, items[static_cast<size_t>(i)].label);
  }
  EXPECT_EQ(index.info().kind, "exact");
  EXPECT_EQ(index.info().model, "runs/a");
  EXPECT_EQ(index.info().model_hash, "abc");
  EXPECT_EQ(index.info().recall.at("1@1"), 0.5);
  EXPECT_TRUE(same_bits(index.vector(7), x_[7]));
}

TEST_F(StoredIndexTest, FindsItsItems) {
  const StoredIndex index = make();
  const auto hits = index.search(x_.slice(0, 0, kCount), 3);
  ASSERT_EQ(hits.size(), static_cast<size_t>(kCount));
  for (int64_t i = 0; i < kCount; ++i) {
    const auto& row = hits[static_cast<size_t>(i)];
    ASSERT_EQ(row.size(), 3u);
    EXPECT_EQ(row[0].position, i);
    EXPECT_NEAR(row[0].similarity, 1, 1e-6);
    EXPECT_GE(row[1].similarity, row[2].similarity);
  }
  EXPECT_EQ(find(index, 0, 1000).size(), static_cast<size_t>(kCount));
  EXPECT_TRUE(index.search(x_.slice(0, 0, 0), 3).empty());
  EXPECT_THROW(index.search(x_, 0), c10::ValueError);
}

TEST_F(StoredIndexTest, LooksOnUntilEnoughAreFound) {
  const StoredIndex index = make();
  const auto all = find(index, 0, kCount);
  for (const int64_t share : {2, 3, 20, 40}) {
    const auto keep = [&](int64_t position) { return position % share == 1; };
    std::vector<int64_t> expected;
    for (const int64_t position : all) {
      if (keep(position) && expected.size() < 5) expected.push_back(position);
    }
    EXPECT_EQ(find(index, 0, 5, keep), expected) << share;
  }
  EXPECT_TRUE(find(index, 0, 5, [](int64_t) { return false; }).empty());
}

TEST_F(StoredIndexTest, RemovedItemsAreNotFound) {
  StoredIndex index = make();
  index.save(path_);
  const auto before = find(index, 0, kCount);
  std::vector<std::string> gone = {"nothing.png"};
  for (size_t i = 0; i < 30; ++i) gone.push_back(index.item(before[i]).path);
  EXPECT_EQ(index.remove(gone), 30);
  EXPECT_EQ(index.remove(gone), 0);
  EXPECT_EQ(index.size(), 10);
  EXPECT_EQ(index.count(), kCount);
  EXPECT_TRUE(index.is_removed(0));
  const std::vector<int64_t> left(before.begin() + 30, before.end());
  EXPECT_EQ(find(index, 0, 20), left);
  index.save(path_);
  const StoredIndex opened = StoredIndex::open(path_);
  EXPECT_EQ(opened.info().removed, index.info().removed);
  EXPECT_EQ(find(opened, 0, 20), left);
}

TEST_F(StoredIndexTest, GrowsInMemoryAndInBlocks) {
  for (const int64_t memory_mb : {100, 0}) {
    make().save(path_);
    StoredIndex index = StoredIndex::open(path_, memory_mb);
    index.remove({"image 3.png"});
    index.add(x_.slice(0, kCount, 2 * kCount), items_of(kCount, kCount));
    EXPECT_TRUE(index.info().recall.empty());
    index.save(path_);
    const StoredIndex opened = StoredIndex::open(path_, memory_mb);
    EXPECT_EQ(opened.size(), 2 * kCount - 1);
    EXPECT_EQ(opened.item(60).path, "image 60.png");
    EXPECT_EQ(find(opened, 60, 1), std::vector<int64_t>{60});
    EXPECT_NE(find(opened, 3, 1), std::vector<int64_t>{3});
    EXPECT_TRUE(same_bits(opened.vector(60), x_[60]));
  }
  StoredIndex index = make();
  EXPECT_THROW(index.add(x_, items_of(0, 3)), c10::ValueError);
  EXPECT_THROW(index.add(torch::ones({3, 4}), items_of(0, 3)), c10::ValueError);
  EXPECT_EQ(index.count(), kCount);
}

TEST_F(StoredIndexTest, AnIndexThatCannotBeWrittenLeavesTheOldOne) {
  make().save(path_);
  auto index = std::make_unique<ExactIndex>(8);
  index->add_rows(rows_from(3, 8, [](int64_t, int64_t) -> Tensor {
    throw DataError("rows.npy: row 2 has a NaN");
  }));
  const StoredIndex broken(std::move(index), items_of(0, 3),
                           {"exact", "", "", {}, {}});
  expect_error<DataError>([&] { broken.save(path_); }, "rows.npy");
  EXPECT_EQ(StoredIndex::open(path_).size(), kCount);
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("photos"));
    ++files;
  }
  EXPECT_EQ(files, 3);
}

TEST_F(StoredIndexTest, ARecordOfWhatWasThereBeforeDoesNotStay) {
  make().save(path_);
  auto small = make(items_of(0, 5));
  small.save(path_);
  EXPECT_EQ(StoredIndex::open(path_).size(), 5);
}

TEST_F(StoredIndexTest, SaysWhichFileIsMissingOrDoesNotFit) {
  make().save(path_);
  const auto refused = [&](const auto&... parts) {
    expect_error<DataError>([&] { StoredIndex::open(path_); }, parts...);
  };
  // As an older kith wrote it, without checksums.
  std::string record = read_file(path_ + ".json", 1 << 20);
  record.erase(1, record.find("\"version\"") - 1);
  record.replace(record.find(",\"files\""), std::string::npos, "}\n");
  write_file(path_ + ".json", record);
  EXPECT_EQ(StoredIndex::open(path_).size(), kCount);
  EXPECT_FALSE(check_index(path_));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = record;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    write_file(path_ + ".json", text.replace(at, from.size(), to));
  };
  changed("\"count\":40", "\"count\":41");
  refused(path_, "40 items", "41", "anew");
  changed("\"dim\":8", "\"dim\":9");
  refused(path_, "8 numbers", "9");
  changed("\"exact\"", "\"hnsw\"");
  refused(path_, "'hnsw'");
  changed("\"version\":1", "\"version\":2");
  refused(path_ + ".json", "version 2");
  changed("\"removed\":[]", "\"removed\":[3]");
  refused(path_ + ".json", "'removed'", "[first, last]");
  changed("\"removed\":[]", "\"removed\":[[3,5],[5,6]]");
  refused(path_ + ".json", "'removed'", "rising");
  changed("\"removed\":[]", "\"removed\":[[3,2]]");
  refused(path_ + ".json", "'removed'", "rising");
  changed("\"removed\":[]", "\"removed\":[[39,40]]");
  refused(path_ + ".json", "'removed'", "below the count 40");
  changed("\"kind\"", "\"sort\"");
  refused(path_ + ".json", "'kind'");
  changed("{", "[");
  refused(path_ + ".json", "JSON");
  write_file(path_ + ".json", record);
  std::string more = "path,label\n";
  for (int64_t i = 0; i <= kCount; ++i) more += "a,b\n";
  write_file(path_ + ".items.csv", more);
  refused(path_ + ".items.csv", "41 items for 40 vectors");
  write_file(path_ + ".items.csv", "path,label\na,b\n");
  refused(path_ + ".items.csv", "1 items");
  write_file(path_ + ".items.csv", "path\na\n");
  refused(path_ + ".items.csv", "label");
  std::filesystem::remove(path_ + ".items.csv");
  refused(path_ + ".items.csv");
  std::filesystem::remove(path_ + ".json");
  refused(path_ + ".json", "is missing", "keep the three files together");
  std::filesystem::remove(path_);
  refused(path_, "no such file", "kith index");
}

TEST_F(StoredIndexTest, DamageIsAnError) {
  make().save(path_);
  std::mt19937_64 random(5);
  for (const char* ending : {"", ".json", ".items.csv"}) {
    const std::string whole = read_file(path_ + ending, 1 << 20);
    for (int i = 0; i < 100; ++i) {
      const std::string other = damage(whole, random);
      if (other == whole) continue;
      write_file(path_ + ending, other);
      EXPECT_THROW(StoredIndex::open(path_), DataError) << ending << i;
    }
    write_file(path_ + ending, whole);
  }
}

// An error, or the same answer (in a key that is not known as one any more).
TEST_F(StoredIndexTest, EveryBitCounts) {
  make().save(path_);
  const auto right = find(StoredIndex::open(path_), 0, 5);
  for (const char* ending : {"", ".json", ".items.csv"}) {
    const std::string whole = read_file(path_ + ending, 1 << 20);
    size_t told = 0;
    size_t tried = 0;
    for (size_t bit = 0; bit < 8 * whole.size(); bit += 5) {
      std::string bytes = whole;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      write_file(path_ + ending, bytes);
      ++tried;
      try {
        const StoredIndex index = StoredIndex::open(path_);
        EXPECT_EQ(find(index, 0, 5), right) << ending << bit;
        EXPECT_EQ(index.item(3).path, "image 3.png") << ending << bit;
      } catch (const DataError& error) {
        EXPECT_NE(std::string(error.what()).find(path_), std::string::npos);
        ++told;
      }
    }
    EXPECT_GE(told + 2, tried) << ending;
    write_file(path_ + ending, whole);
  }
}

// Vectors that are not in memory are compared when they are read.
TEST_F(StoredIndexTest, DamagedVectorsAreFoundWhenTheyAreRead) {
  make().save(path_);
  std::string bytes = read_file(path_, 1 << 20);
  const StoredIndex index = StoredIndex::open(path_, 0);
  EXPECT_TRUE(check_index(path_));
  bytes[bytes.size() - 3] ^= 1;
  write_file(path_, bytes);
  expect_error<DataError>([&] { check_index(path_); }, path_, "damaged",
                          "checksum", "anew");
  expect_error<DataError>([&] { StoredIndex::open(path_, 100); }, path_,
                          "damaged");
}

TEST_F(StoredIndexTest, TheSameIndexIsTheSameBytes) {
  make().save(path_);
  const std::string record = read_file(path_ + ".json", 1 << 20);
  make().save(path_);
  EXPECT_EQ(read_file(path_ + ".json", 1 << 20), record);
  make().save(folder_.file("other"));
  EXPECT_EQ(read_file(folder_.file("other.json"), 1 << 20), record);
}

// The three files can be copied elsewhere, and renamed.
TEST_F(StoredIndexTest, ItsFilesCanBeMoved) {
  make().save(path_);
  for (const char* ending : {"", ".json", ".items.csv"}) {
    std::filesystem::rename(path_ + ending, folder_.file("b") + ending);
  }
  EXPECT_EQ(StoredIndex::open(folder_.file("b")).size(), kCount);
  EXPECT_TRUE(check_index(folder_.file("b")));
}

// Only what kith has left is removed.
TEST_F(StoredIndexTest, OtherFilesStay) {
  const std::vector<std::string> others = {
      folder_.write(".photos.faiss.new", "x"),
      folder_.write(".photos.faiss.0123456789abcdeg.new", "x"),
      folder_.write(".photos.faiss2.0123456789abcdef.new", "x"),
      folder_.write("photos.faiss.0123456789abcdef.new", "x")};
  const std::string left =
      folder_.write(".photos.faiss.0123456789abcdef.new", "x");
  const std::string part =
      folder_.write(".photos.faiss.part.new.items.csv", "x");
  make().save(path_);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_FALSE(std::filesystem::exists(part));
  for (const std::string& other : others) {
    EXPECT_TRUE(std::filesystem::exists(other)) << other;
  }
}

TEST(ItemTable, KeepsTextsInOnePiece) {
  ItemTable items({{"a", "x"}, {"bcd", "y"}, {"", "x"}});
  EXPECT_EQ(items.size(), 3);
  EXPECT_EQ(items.path(1), "bcd");
  EXPECT_EQ(items.path(2), "");
  EXPECT_EQ(items.label(2), "x");
  EXPECT_EQ(items.labels(), (std::vector<std::string>{"x", "y"}));
  items.add("ef", "z");
  EXPECT_EQ(items.path(3), "ef");
}

}  // namespace
}  // namespace kith
