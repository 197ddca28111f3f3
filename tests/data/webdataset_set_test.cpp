// The data set `webdataset`.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/file_sets.h"
#include "kith/image/encode.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/raw_tar.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class WebDatasetSet : public ::testing::Test {
 protected:
  std::unique_ptr<DataSet> open(WebDatasetOptions options = {}) const {
    if (options.path.empty()) options.path = dir_.path();
    return std::make_unique<WebDataset>(options);
  }

  void write_shard(const std::string& name,
                   const std::vector<RawTarFile>& files) const {
    std::filesystem::create_directories(
        std::filesystem::path(dir_.file(name)).parent_path());
    dir_.write(name, raw_tar(files));
  }

  /// A picture of one grey.
  static std::string picture(uint8_t grey) {
    Image image(2, 2, 1);
    image.pixels.assign(4, grey);
    const std::vector<uint8_t> bytes = encode_png(image);
    return {bytes.begin(), bytes.end()};
  }

  template <class Error, typename... Parts>
  void expect_refused(const std::vector<RawTarFile>& files,
                      const Parts&... parts) const {
    write_shard("train-0.tar", files);
    expect_error<Error>([&] { open(); }, parts...);
  }

  static std::vector<int64_t> labels(const DataSet& set) {
    std::vector<int64_t> labels;
    for (const Item& item : set.list().items) labels.push_back(item.label);
    return labels;
  }
  static std::vector<std::string> splits(const DataSet& set) {
    std::vector<std::string> splits;
    for (const Item& item : set.list().items) {
      splits.emplace_back(split_name(item.split));
    }
    return splits;
  }

  TempDir dir_;
  LogCapture log_;
};

TEST_F(WebDatasetSet, ReadsShardsInTheOrderOfTheirNames) {
  write_shard("train-000001.tar", {{"c.cls", "7"}, {"c.png", picture(30)}});
  write_shard("train-000000.tar", {{"x/a.png", picture(10)},
                                   {"x/a.json", "{}"},
                                   {"x/a.cls", " -3\n"},
                                   {"x/b.PNG", picture(20)},
                                   {"x/b.seg.png", "no picture"},
                                   {"x/b.cls", "7"}});
  write_shard("test-000000.tar", {{"d.png", picture(40)}, {"d.cls", "9"}});
  const auto set = open_data_set(dir_.path());
  EXPECT_THAT(labels(*set), ElementsAre(9, -3, 7, 7));
  EXPECT_THAT(splits(*set), ElementsAre("test", "train", "train", "train"));
  EXPECT_EQ(set->list().items[1].path, dir_.file("train-000000.tar/x/a.png"));
  EXPECT_THAT(set->list().class_names, IsEmpty());
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(set->load(i).pixels[0], (i + 3) % 4 * 10 + 10);
  }
  EXPECT_EQ(set->section().find("name")->scalar, "webdataset");
}

TEST_F(WebDatasetSet, TakesNamesOfClassesAndFoldersOfSplits) {
  write_shard("train/0.tar", {{"a.jpg", picture(1)}, {"a.cls", "wren"}});
  write_shard("val/0.tar", {{"b.jpg", picture(2)}, {"b.cls", "12"}});
  write_shard("other/0.tar", {{"c.jpg", "x"}});
  const auto set = open_data_set(dir_.path());
  EXPECT_THAT(labels(*set), ElementsAre(1, 0));
  EXPECT_EQ(set->list().class_name(1), "wren");
  EXPECT_THAT(splits(*set), ElementsAre("train", "validation"));
}

TEST_F(WebDatasetSet, IsNotWhatPicturesWereUnpackedFrom) {
  write_shard("birds.tar", {{"wren/1.png", picture(1)}});
  for (const char* name : {"wren", "owl"}) {
    std::filesystem::create_directories(dir_.file(name));
    dir_.write(std::string(name) + "/1.png", picture(1));
  }
  const auto set = open_data_set(dir_.path());
  EXPECT_EQ(set->section().find("name")->scalar, "folder");
}

TEST_F(WebDatasetSet, TakesClassesFromJson) {
  write_shard("a.tar", {{"1.json", R"({"label": 4, "id": 1})"},
                        {"1.png", picture(1)},
                        {"2.json", R"({"label": "4"})"},
                        {"2.png", picture(2)},
                        {"3.json", R"({"label": 2})"},
                        {"3.png", picture(2)}});
  const auto set = open({.label = "json.label"});
  EXPECT_THAT(labels(*set), ElementsAre(4, 4, 2));
  // No shard says its split: the last half of the classes is the test split.
  EXPECT_THAT(splits(*set), ElementsAre("test", "test", "train"));
  write_shard("a.tar", {{"1.png", picture(1)}, {"1.json", "[4]"}});
  expect_error<DataError>([&] { open({.label = "json.label"}); },
                          "a.tar/1.json", "no key 'label'", "data.label");
  write_shard("a.tar", {{"1.png", picture(1)}, {"1.json", "{"}});
  expect_error<DataError>([&] { open({.label = "json.label"}); },
                          "a.tar/1.json", "not JSON");
  write_shard("a.tar", {{"1.png", picture(1)}, {"1.json", R"({"l": [1]})"}});
  expect_error<DataError>([&] { open({.label = "json.l"}); }, "'[1]'",
                          "an integer or a text");
}

TEST_F(WebDatasetSet, LeavesOutWhatHasNoPictureAndSaysSo) {
  write_shard("train-0.tar", {{"a.cls", "1"},
                              {"a.txt", "a text"},
                              {"b.cls", "1"},
                              {".hidden.png", "x"},
                              {"c.cls", "1"},
                              {"c.png", picture(5)}});
  const auto set = open();
  EXPECT_THAT(labels(*set), ElementsAre(1));
  EXPECT_THAT(log_.warnings(),
              ElementsAre(HasSubstr("train-0.tar/a: no picture; 2 such")));
}

TEST_F(WebDatasetSet, FindsPicturesWhereOthersWereLeftOut) {
  write_shard("train-0.tar", {{"a.png", picture(10)},
                              {"a.cls", "1"},
                              {"b.png", picture(20)},
                              {"b.cls", "1"}});
  const auto set = open();
  set->leave_out({{0, dir_.file("train-0.tar/a.png"), "broken"}});
  EXPECT_EQ(set->load(0).pixels[0], 20);
}

TEST_F(WebDatasetSet, NamesThePictureThatIsBroken) {
  write_shard("train-0.tar", {{"a.png", "no picture"}, {"a.cls", "1"}});
  const auto set = open();
  expect_error<BrokenImageError>([&] { set->load(0); }, "train-0.tar/a.png");
  write_shard("train-0.tar", {{"b.png", "no picture"}, {"a.cls", "1"}});
  expect_error<BrokenImageError>([&] { set->load(0); }, "changed",
                                 "start again");
}

TEST_F(WebDatasetSet, RefusesWhatCannotBeRight) {
  expect_error<DataError>([&] { open(); }, dir_.path(), "no shards found");
  expect_error<DataError>([&] { open({.path = dir_.file("none.tar")}); },
                          "none.tar");
  for (const char* label : {"json", "cls.a", "json."}) {
    expect_error<ConfigError>(
        [&] { open({.path = dir_.path(), .label = label}); },
        "webdataset.label", "json.KEY");
  }
  const std::string png = picture(1);
  expect_refused<DataError>({{"a.png", png}, {"a.txt", "1"}},
                            "train-0.tar/a: no file .cls", "png, txt",
                            "data.label");
  expect_refused<DataError>({{"a.png", png}, {"a.jpg", png}, {"a.cls", "1"}},
                            "'a' has two pictures", "'a.jpg'");
  expect_refused<DataError>({{"a.cls", "1"}, {"a.cls", "2"}},
                            "'a.cls' is there twice");
  expect_refused<DataError>(
      {{"a.png", png}, {"a.cls", "1"}, {"b.cls", "1"}, {"a.txt", "1"}}, "'a'",
      "twice, or its files lie apart");
  expect_refused<DataError>({{"a.png", png}, {"a.cls", " \n"}}, "a.cls",
                            "the class is empty");
  expect_refused<DataError>({{"a.png", png}, {"a.cls", "\xff"}}, "a.cls",
                            "is no class");
  expect_refused<DataError>({}, "no pictures");
  write_shard("train-0.tar", {{"a.png", png}, {"a.cls", "1"}});
  write_shard("more.tar", {{"a.png", png}, {"a.cls", "1"}});
  expect_error<DataError>([&] { open(); }, "more.tar", "of which split",
                          "train-0.tar");
}

}  // namespace
}  // namespace kith
