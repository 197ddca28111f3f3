// `kith index` of a run: its images through its model.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/file.h"
#include "kith/io/csv.h"
#include "tests/cli/searched_run.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class IndexedRun : public SearchedRun {};

TEST_F(IndexedRun, HoldsTheImagesOfTheSplit) {
  const std::string index = indexed("run.faiss");
  const CsvTable items = read_csv(index + ".items.csv");
  ASSERT_EQ(items.rows().size(), 48u);
  EXPECT_THAT(items.rows().front().fields.at(0), HasSubstr(images() + "/"));
  EXPECT_NE(items.rows().front().fields.at(1), "");
  const Json info = json_of({"index", "info", index});
  EXPECT_EQ(info.at("classes"), 6);
  EXPECT_EQ(info.at("model"), run());
  EXPECT_EQ(info.at("model_hash").get<std::string>().size(), 64u);
  EXPECT_EQ(info.at("dim"), 16);

  // The same vectors by way of a file.
  const std::string rows = file("rows.npy");
  const std::string ids = file("ids.txt");
  std::string list = "path,label,split\n";
  for (const CsvRow& row : items.rows()) {
    list += csv_quote(row.fields.at(0)) + ",1,test\n";
  }
  expect_success({"embed", run(), "--images", folder_->write("list.csv", list),
                  "--out", rows, "--ids", ids, "--device", "cpu", "--threads",
                  "1"});
  const std::string other = file("other.faiss");
  expect_success({"index", rows, "--ids", ids, "--model", run(), "--out", other,
                  "--threads", "1"});
  EXPECT_EQ(read_file(index, 1 << 20), read_file(other, 1 << 20));
  EXPECT_EQ(json_of({"index", "info", other}).at("model_hash"),
            info.at("model_hash"));
}

TEST_F(IndexedRun, GrowsWithItsModelOnly) {
  const std::string index = indexed("run.faiss");
  const Json added = json_of({"index", "add", run(), "--split", "train", "--to",
                              index, "--threads", "1"});
  EXPECT_EQ(added.at("added"), 48);
  EXPECT_EQ(added.at("items"), 96);

  const std::string other = file("other_run");
  expect_success(
      train_arguments(file("tiny.yaml"), other,
                      {"--set", "train.epochs=1", "--set", "train.seed=1"}));
  expect_failure(1, {"index", "add", other, "--to", index},
                 {index, run(), other, "make the index anew"});

  // A folder without classes.
  const std::string plain = file("plain");
  fs::create_directory(plain);
  fs::copy_file(read_csv(index + ".items.csv").rows().front().fields.at(0),
                plain + "/one.png");
  EXPECT_EQ(json_of({"index", "add", run(), "--images", plain, "--to", index})
                .at("items"),
            97);
  const CsvRow last = read_csv(index + ".items.csv").rows().back();
  EXPECT_THAT(last.fields, ElementsAre(plain + "/one.png", ""));

  // One beside the folders of the classes, and shards of the rest.
  const std::string mixed = file("mixed");
  fs::create_directories(mixed + "/class");
  fs::copy_file(plain + "/one.png", mixed + "/class/two.png");
  fs::copy_file(plain + "/one.png", mixed + "/three.png");
  const std::string shards = file("shards");
  const ProgramResult exported = expect_success(
      {"index", run(), "--images", mixed, "--export", shards + "/"});
  EXPECT_THAT(exported.err,
              HasSubstr("1 images are in no class's folder and are left out "
                        "(first: " +
                        mixed + "/three.png)"));
  EXPECT_EQ(count_lines(shards + "/metadata/metadata_0000.jsonl"), 1);
}

/// The first numbers of the embeddings, which queries are cut to as well.
TEST_F(IndexedRun, MayHoldTheFirstNumbersAlone) {
  const std::string index = file("cut.faiss");
  const Json made = json_of({"index", run(), "--dim", "8", "--kind", "int8",
                             "--out", index, "--threads", "1"});
  EXPECT_EQ(made.at("dim"), 8);
  EXPECT_EQ(made.at("kind"), "int8");
  EXPECT_TRUE(made.at("recall").contains("1@1"));
  const std::string image =
      read_csv(index + ".items.csv").rows().front().fields.at(0);
  const Json found =
      json_of({"search", "--index", index, "--image", image, "-k", "1"});
  const Json& hit = found.at("queries").at(0).at("results").at(0);
  EXPECT_EQ(hit.at("path"), image);
  EXPECT_NEAR(hit.at("similarity").get<double>(), 1, 0.01);
  EXPECT_EQ(json_of({"index", "add", run(), "--split", "train", "--to", index})
                .at("items"),
            96);
  // By way of a file.
  const std::string rows = file("cut.npy");
  const std::string ids = file("cut.txt");
  expect_success({"embed", run(), "--images", images(), "--out", rows, "--ids",
                  ids, "--dim", "8"});
  const std::string other = file("cut_other.faiss");
  expect_success({"index", rows, "--ids", ids, "--model", run(), "--out", other,
                  "--kind", "float16"});
  EXPECT_EQ(json_of({"search", "--index", other, "--image", image, "-k", "1"})
                .at("queries")
                .at(0)
                .at("results")
                .at(0)
                .at("path"),
            image);
  expect_failure(2, {"index", run(), "--dim", "17", "--out", file("no.faiss")},
                 {"--dim", "the vectors have 16 numbers"});
  expect_failure(2,
                 {"index", rows, "--model", run(), "--out", file("no.faiss")},
                 {rows, "8 dimensions", "gives 16"});
}

TEST_F(IndexedRun, KnowsVectorsThatWereMadeInAnotherWay) {
  const std::string rows = file("other_way.npy");
  const std::string ids = file("other_way.txt");
  expect_success({"embed", run(), "--images", images(), "--out", rows, "--ids",
                  ids, "--flip", "--scales", "0.5"});
  const std::string index = file("other_way.faiss");
  expect_failure(
      2, {"index", rows, "--ids", ids, "--model", run(), "--out", index},
      {rows, "row 0", run(), "--scales", "leave --model out"});
  expect_success({"index", rows, "--ids", ids, "--out", index});
}

}  // namespace
}  // namespace kith
