// `kith index`: made of embeddings and of another index; changed; exported.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/file.h"
#include "kith/core/file_lock.h"
#include "kith/io/csv.h"
#include "kith/io/npy.h"
#include "tests/cli/searched_run.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Indexes of `count` vectors in the plane, turned by 10 degrees each.
class IndexCommand : public ::testing::Test {
 protected:
  std::string write_rows(const std::string& name, int count, int first = 0) {
    Array rows = make_array(DType::kF32, {count, 2});
    for (int i = 0; i < count; ++i) {
      const double angle = 3.14159265 / 18 * (first + i);
      const auto at = static_cast<size_t>(2 * i);
      // Any length: an index holds unit vectors.
      rows.values<float>()[at] = static_cast<float>(3 * std::cos(angle));
      rows.values<float>()[at + 1] = static_cast<float>(3 * std::sin(angle));
    }
    write_npy(folder_.file(name), rows);
    return folder_.file(name);
  }

  /// One vector that has as many numbers.
  std::string write_rows_of(int64_t dim) {
    Array rows = make_array(DType::kF32, {1, dim});
    rows.values<float>()[0] = 1;
    write_npy(folder_.file("one.npy"), rows);
    return folder_.file("one.npy");
  }

  Json json_of(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    return Json::parse(expect_success(arguments).out);
  }

  std::vector<std::string> names_in(const std::string& index) {
    const CsvTable items = read_csv(index + ".items.csv");
    std::vector<std::string> names;
    for (const CsvRow& row : items.rows()) {
      names.push_back(row.fields.at(0));
    }
    return names;
  }

  /// Names that are found for the row of a file with one.
  std::vector<std::string> found(const std::string& index,
                                 const std::string& query, int k) {
    const Json json = json_of({"search", "--index", index, "--embeddings",
                               query, "-k", std::to_string(k)});
    std::vector<std::string> names;
    for (const Json& result : json.at("queries").at(0).at("results")) {
      names.push_back(result.at("path"));
    }
    return names;
  }

  TempDir folder_;
  std::string index_ = folder_.file("deep/index.faiss");
};

TEST_F(IndexCommand, TakesEmbeddings) {
  const std::string rows = write_rows("rows.npy", 3);
  const std::string ids = folder_.write("ids.txt", "a 1\r\nb, \"c\"\nd 3\n");
  const std::string labels = folder_.write("labels.txt", "one\ntwo\none");
  const Json json = json_of(
      {"index", rows, "--out", index_, "--ids", ids, "--labels", labels});
  EXPECT_EQ(json.at("index"), index_);
  EXPECT_EQ(json.at("kind"), "exact");
  EXPECT_EQ(json.at("items"), 3);
  EXPECT_EQ(json.at("dim"), 2);
  EXPECT_EQ(json.at("model"), "");
  EXPECT_FALSE(json.contains("recall"));
  EXPECT_THAT(names_in(index_), ElementsAre("a 1", "b, \"c\"", "d 3"));
  EXPECT_THAT(found(index_, write_rows("query.npy", 1, 2), 2),
              ElementsAre("d 3", "b, \"c\""));
  const Json info = json_of({"index", "info", index_});
  EXPECT_EQ(info.at("items"), 3);
  EXPECT_EQ(info.at("classes"), 2);
  EXPECT_THAT(expect_success({"index", "info", index_}).out,
              AllOf(HasSubstr("kind        exact"),
                    HasSubstr("model       not known")));
  for (const auto& entry : fs::directory_iterator(folder_.file("deep"))) {
    EXPECT_THAT(entry.path().string(), Not(HasSubstr("scratch")));
  }
}

TEST_F(IndexCommand, AddsReplacesAndRemoves) {
  expect_success({"index", write_rows("rows.npy", 4), "--out", index_});
  EXPECT_THAT(names_in(index_), ElementsAre("0", "1", "2", "3"));
  const std::string more = write_rows("more.npy", 2, 10);
  EXPECT_EQ(json_of({"index", "add", more, "--to", index_}).at("items"), 6);
  const std::string query = write_rows("query.npy", 1, 10);
  EXPECT_THAT(found(index_, query, 1), ElementsAre("4"))
      << "numbers go on where those of the index end";

  const std::string ids = folder_.write("ids.txt", "4\nnew\n");
  expect_failure(2, {"index", "add", more, "--ids", ids, "--to", index_},
                 {"1 of 2 items", "first: 4", "--replace"});
  const Json replaced = json_of(
      {"index", "add", more, "--ids", ids, "--to", index_, "--replace"});
  EXPECT_EQ(replaced.at("replaced"), 1);
  EXPECT_EQ(replaced.at("items"), 7);
  EXPECT_THAT(found(index_, query, 1), ElementsAre("4"));

  const std::string list = folder_.write("list.txt", "4\n\nnowhere\n");
  const ProgramResult removed =
      expect_success({"index", "remove", list, "--from", index_});
  EXPECT_THAT(removed.out, HasSubstr("1 items removed; 6 in "));
  EXPECT_THAT(removed.err, HasSubstr("first: nowhere"));
  EXPECT_THAT(found(index_, query, 10), Not(::testing::Contains("4")));
  expect_failure(1, {"index", "remove", list, "--from", index_},
                 {list, "none of its 2 names", ".items.csv"});

  // Made anew, nothing is left of what was removed.
  const std::string anew = folder_.file("anew.faiss");
  EXPECT_EQ(json_of({"index", index_, "--out", anew}).at("items"), 6);
  EXPECT_EQ(json_of({"index", "info", anew}).at("removed"), 0);
  EXPECT_THAT(names_in(anew), ElementsAre("0", "1", "2", "3", "5", "new"));
  EXPECT_EQ(found(anew, query, 6), found(index_, query, 6));
}

TEST_F(IndexCommand, ReadsLargeFilesInBlocks) {
  Array rows = make_array(DType::kF32, {40'000, 8});  // 1.28 MB
  const std::span<float> values = rows.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 7919 % 1009) - 504.0F;
  }
  const std::string file = folder_.file("rows.npy");
  write_npy(file, rows);
  const std::string other = folder_.file("other.faiss");
  expect_success({"index", file, "--out", index_, "--memory-mb", "1"});
  expect_success({"index", file, "--out", other});
  EXPECT_EQ(read_file(index_, 1 << 24), read_file(other, 1 << 24));
}

TEST_F(IndexCommand, KindsOfFaissTellTheirRecall) {
  if (expect_success({"--version"}).out.find("faiss: not found") !=
      std::string::npos) {
    GTEST_SKIP() << "kith is built without faiss";
  }
  Array rows = make_array(DType::kF32, {1000, 8});
  const std::span<float> values = rows.values<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 7919 % 1009) - 504.0F;
  }
  const std::string file = folder_.file("rows.npy");
  write_npy(file, rows);
  for (const auto& [kind, set] : {std::pair("hnsw", "ef_search=64"),
                                  std::pair("ivf_pq", "subvectors=8")}) {
    const std::vector<std::string> command = {"index", file,     "--out",
                                              index_,  "--kind", kind,
                                              "--set", set,      "--overwrite"};
    const Json json = json_of(command);
    EXPECT_EQ(json.at("kind"), kind);
    EXPECT_EQ(json.at("recall_queries"), 1000);
    EXPECT_GT(json.at("recall").at("10@10"), 0.6) << kind;
    EXPECT_THAT(expect_success(command).out,
                HasSubstr("recall against exact search, 1000 queries: 1@1 "));
    EXPECT_EQ(json_of({"index", "info", index_}).at("recall"),
              json.at("recall"));
    // What is added is found, and the recall is not known any more.
    const std::string add = write_rows_of(8);
    expect_success({"index", "add", add, "--to", index_});
    EXPECT_EQ(found(index_, add, 1), std::vector<std::string>{"1000"}) << kind;
    EXPECT_TRUE(json_of({"index", "info", index_}).at("recall").empty());
  }
  expect_failure(2,
                 {"index", file, "--out", folder_.file("more.faiss"), "--kind",
                  "ivf_pq", "--set", "lists=2000"},
                 {"1000 vectors", "2000"});
}

TEST_F(IndexCommand, AFailedOverwriteLeavesTheOldIndex) {
  const std::string good = write_rows("rows.npy", 4);
  expect_success({"index", good, "--out", index_});
  Array rows = make_array(DType::kF32, {200'000, 2});  // 1.6 MB
  const std::span<float> values = rows.values<float>();
  for (float& value : values) value = 1;
  values.back() = NAN;
  const std::string bad = folder_.file("bad.npy");
  write_npy(bad, rows);
  expect_failure(
      1, {"index", bad, "--out", index_, "--overwrite", "--memory-mb", "1"},
      {bad, "row 199999", "NaN"});
  EXPECT_EQ(json_of({"index", "info", index_}).at("items"), 4);
  EXPECT_THAT(found(index_, write_rows("query.npy", 1, 2), 1),
              ElementsAre("2"));
}

TEST_F(IndexCommand, TouchesNoFilesOfOthers) {
  const std::string rows = write_rows("rows.npy", 3);
  const std::string out = folder_.file("mine");
  for (const char* end : {".json", ".items.csv"}) {
    write_file(out + end, "precious");
    expect_failure(2, {"index", rows, "--out", out},
                   {out + end, "is there already"});
    EXPECT_EQ(read_file(out + end, 100), "precious");
    fs::remove(out + end);
  }
  write_file(out + ".scratch", "precious");
  expect_success({"index", rows, "--out", out});
  EXPECT_EQ(read_file(out + ".scratch", 100), "precious");
  expect_failure(2,
                 {"index", rows, "--out",
                  folder_.path() + "/./" + fs::path(rows).filename().string(),
                  "--overwrite"},
                 {"is the source too"});
  EXPECT_EQ(read_npy(rows).shape, (std::vector<int64_t>{3, 2}));
}

TEST_F(IndexCommand, NumbersAreNotGivenTwice) {
  expect_success({"index", write_rows("rows.npy", 5), "--out", index_});
  const std::string list = folder_.write("list.txt", "1\n");
  expect_success({"index", "remove", list, "--from", index_});
  const std::string anew = folder_.file("anew.faiss");
  expect_success({"index", index_, "--out", anew});
  expect_success({"index", "add", write_rows("more.npy", 1, 9), "--to", anew});
  EXPECT_THAT(names_in(anew), ElementsAre("0", "2", "3", "4", "5"));
}

TEST_F(IndexCommand, IsChangedByOneAtATime) {
  const std::string rows = write_rows("rows.npy", 3);
  expect_success({"index", rows, "--out", index_});
  const std::string list = folder_.write("list.txt", "1\n");
  FileLock lock(folder_.file("deep/.index.faiss.lock"));
  ASSERT_TRUE(lock.try_lock());
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"index", "add", rows, "--to", index_},
        {"index", "remove", list, "--from", index_},
        {"index", rows, "--out", index_, "--overwrite"}}) {
    expect_failure(1, command, {index_, "another program", "process "});
  }
}

TEST_F(IndexCommand, ComparesItsFilesWithTheirChecksums) {
  expect_success({"index", write_rows("rows.npy", 3), "--out", index_});
  const std::vector<std::string> check = {"index", "info", index_, "--check"};
  EXPECT_THAT(expect_success(check).out, HasSubstr("check       whole"));
  EXPECT_THAT(json_of(check).at("check"), HasSubstr("whole"));
  for (const char* ending : {"", ".items.csv", ".json"}) {
    const std::string whole = read_file(index_ + ending, 1 << 20);
    std::string bytes = whole;
    bytes[bytes.size() - 4] ^= 1;
    write_file(index_ + ending, bytes);
    expect_failure(1, check, {index_ + ending, "damaged", "anew"});
    write_file(index_ + ending, whole);
  }
}

TEST_F(IndexCommand, RemovesWhatAKilledOneLeft) {
  const std::string rows = write_rows("rows.npy", 3);
  expect_success({"index", rows, "--out", index_});
  const std::vector<std::string> left = {
      folder_.write("deep/.index.faiss.part.new", "half"),
      folder_.write("deep/.index.faiss.0123456789abcdef.new.items.csv", "half"),
      folder_.write("deep/.index.faiss.99999999.scratch", "half"),
      folder_.write("deep/.kith-99999999-0.tmp", "half")};
  expect_success({"index", rows, "--out", index_, "--overwrite"});
  for (const std::string& file : left) EXPECT_FALSE(fs::exists(file)) << file;
  EXPECT_THAT(names_in(index_), ElementsAre("0", "1", "2"));
}

TEST_F(IndexCommand, RowsNeedADirection) {
  Array rows = make_array(DType::kF32, {3, 2});
  for (float& value : rows.values<float>()) value = 1;
  const std::string file = folder_.file("rows.npy");
  for (const float number : {0.0F, 1e-40F}) {
    rows.values<float>()[4] = rows.values<float>()[5] = number;
    write_npy(file, rows);
    expect_failure(1, {"index", file, "--out", index_},
                   {file, "row 2", "no direction"});
  }
}

TEST_F(IndexCommand, RowsMayBeOfAnyLength) {
  Array rows = make_array(DType::kF32, {3, 2});
  const std::span<float> values = rows.values<float>();
  const float numbers[] = {1e30F, 0, 0, 1e-30F, -2, -2};
  std::copy(std::begin(numbers), std::end(numbers), values.begin());
  const std::string file = folder_.file("rows.npy");
  write_npy(file, rows);
  expect_success({"index", file, "--out", index_});
  for (int64_t row = 0; row < 3; ++row) {
    Array query = make_array(DType::kF32, {1, 2});
    query.values<float>()[0] = values[static_cast<size_t>(2 * row)] * 1e5F;
    query.values<float>()[1] = values[static_cast<size_t>(2 * row + 1)] * 1e5F;
    const std::string path = folder_.file("query.npy");
    write_npy(path, query);
    EXPECT_THAT(found(index_, path, 1), ElementsAre(std::to_string(row)));
  }
}

TEST_F(IndexCommand, WarnsOfNamesThatAreRepeated) {
  const std::string rows = write_rows("rows.npy", 4);
  // A name that no file can have is a name too.
  const std::string ids =
      folder_.write("ids.txt", "a\nb\na\n" + std::string(5000, 'x') + "\n");
  EXPECT_THAT(
      expect_success({"index", rows, "--ids", ids, "--out", index_}).err,
      HasSubstr("1 items have the name of another one (first: a)"));
}

TEST_F(IndexCommand, ExportsShards) {
  const std::string rows = write_rows("rows.npy", 5);
  const std::string out = folder_.file("shards");
  const Json json = json_of({"index", rows, "--export", out, "--shard-rows",
                             "3", "--dtype", "float32"});
  EXPECT_FALSE(json.contains("index"));
  EXPECT_EQ(json.at("export").at("shards"), 2);
  EXPECT_EQ(read_npy(out + "/img_emb/img_emb_0001.npy").shape,
            (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(count_lines(out + "/metadata/metadata_0000.jsonl"), 3);
  expect_failure(2, {"index", rows, "--export", out}, {out, "new folder"});

  // Of an index, together with another one.
  expect_success({"index", rows, "--out", index_});
  const std::string again = folder_.file("again");
  EXPECT_THAT(expect_success({"index", index_, "--out",
                              folder_.file("copy.faiss"), "--export", again})
                  .out,
              AllOf(HasSubstr("copy.faiss"),
                    HasSubstr("5 vectors, 2 dimensions, float16, 1 shards")));
  EXPECT_EQ(read_npy(again + "/img_emb/img_emb_0000.npy").dtype, DType::kF16);
  const Json manifest =
      Json::parse(read_file(again + "/manifest.json", 1 << 20));
  EXPECT_EQ(manifest.at("count"), 5);
}

TEST_F(IndexCommand, RefusesWrongUsage) {
  const std::string rows = write_rows("rows.npy", 3);
  expect_failure(2, {"index"}, {"needs what to index"});
  expect_failure(2, {"index", rows}, {"--out INDEX", "--export DIR"});
  expect_failure(2, {"index", rows, "--out", folder_.path()},
                 {folder_.path() + "/index.faiss"});
  expect_failure(2, {"index", rows, "--out", index_, "--images", "x"},
                 {"--images goes with a model"});
  expect_failure(2, {"index", rows, "--out", index_, "--kind", "exakt"},
                 {"did you mean 'exact'?"});
  expect_failure(2, {"index", rows, "--out", index_, "--set", "lists=4"},
                 {"lists"});
  expect_failure(2, {"index", rows, "--out", index_, "--set", "name=hnsw"},
                 {"--kind"});
  expect_failure(2, {"index", rows, "--out", index_, "--dtype", "float32"},
                 {"--dtype goes with --export"});
  expect_failure(2, {"index", rows, "--export", index_, "--kind", "exact"},
                 {"--kind goes with --out"});
  expect_failure(2, {"index", "add", rows}, {"--to"});
  expect_failure(1, {"index", "add", rows, "--to", index_},
                 {index_, "no such file"});
  const std::string ids = folder_.write("ids.txt", "a\nb\n");
  expect_failure(1, {"index", rows, "--out", index_, "--ids", ids},
                 {ids, "2 entries", "3 rows"});
  expect_failure(1, {"index", folder_.file("nowhere"), "--out", index_},
                 {"nowhere", "expected embeddings"});
  const std::string lone = folder_.write("lone.faiss", "IxFI...");
  expect_failure(1, {"index", lone, "--out", index_},
                 {lone + ".json is missing"});
  EXPECT_FALSE(fs::exists(index_));
  expect_success({"index", rows, "--out", index_});
  expect_failure(2, {"index", rows, "--out", index_},
                 {index_, "--overwrite", "kith index add"});
  expect_success({"index", rows, "--out", index_, "--overwrite"});
  const std::string wide = folder_.file("wide.npy");
  Array matrix = make_array(DType::kF32, {1, 3});
  matrix.values<float>()[0] = 1;
  write_npy(wide, matrix);
  expect_failure(1, {"index", "add", wide, "--to", index_},
                 {wide, "3 dimensions", "2"});
}

}  // namespace
}  // namespace kith
