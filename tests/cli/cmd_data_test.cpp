// `kith data`: making, counting and checking data sets.

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/support/published_sets.h"
#include "tests/support/raw_images.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

std::string grey_png(uint32_t width = 1, uint32_t height = 1) {
  RawPng png;
  png.width = width;
  png.height = height;
  png.rows = std::string(2, '\0');
  return raw_png(png);
}

TEST(DataCommand, MakesAndCountsGlyphs) {
  const TempDir folder;
  const std::string out = folder.file("glyphs");
  const std::vector<std::string> make = {"data",  "make",        "glyphs",
                                         "--out", out,           "--classes",
                                         "5",     "--per-class", "3"};
  std::vector<std::string> make_json = make;
  make_json.push_back("--json");
  const Json made = Json::parse(expect_success(make_json).out);
  EXPECT_EQ(made.at("images"), 15);
  EXPECT_EQ(made.at("list"), out + "/dataset.csv");
  EXPECT_TRUE(std::filesystem::exists(out + "/images/0004/002.png"));

  const Json checked =
      Json::parse(expect_success({"data", "check", out, "--json"}).out);
  EXPECT_EQ(checked.at("broken"), Json::array());
  EXPECT_EQ(checked.at("shared_classes"), 0);
  ASSERT_EQ(checked.at("splits").size(), 2u);
  for (const auto& [split, classes] :
       {std::pair("train", 2), std::pair("test", 3)}) {
    const Json& counts = checked.at("splits").at(split);
    EXPECT_EQ(counts.at("classes"), classes) << split;
    EXPECT_EQ(counts.at("images"), 3 * classes) << split;
    for (const char* which : {"min", "median", "max"}) {
      EXPECT_EQ(counts.at(std::string(which) + "_per_class"), 3) << split;
    }
  }
  expect_failure(2, make, {out, "already holds a data set", "--out"});
}

TEST(DataCommand, ListsEveryBrokenImage) {
  const TempDir folder;
  std::filesystem::create_directory(folder.file("images"));
  const std::string png = grey_png();
  const std::string jpeg = flat_jpeg({.components = "\x80"});
  folder.write("images/good.png", png);
  folder.write("images/good.jpg", jpeg);
  folder.write("images/cut.png", png.substr(0, png.size() - 20));
  folder.write("images/cut.jpg", jpeg.substr(0, jpeg.size() / 2));
  folder.write("images/huge.png", grey_png(31623, 31623));
  folder.write("images/empty.png", "");
  std::string list = "path,label,split\n";
  for (const char* name : {"good.png", "good.jpg", "cut.png", "cut.jpg",
                           "huge.png", "empty.png", "absent.png"}) {
    list += std::string("images/") + name + ",1,test\n";
  }
  folder.write("dataset.csv", list);

  const ProgramResult text = run_kith({"data", "check", folder.path()});
  EXPECT_EQ(text.exit_code, 1);
  EXPECT_THAT(text.out, HasSubstr("7 images"));
  EXPECT_THAT(text.out, HasSubstr("checked 7 images, 5 broken"));
  EXPECT_THAT(text.err, HasSubstr("kith: " + folder.path() + ": 5 images"));

  const ProgramResult json =
      run_kith({"data", "check", folder.path(), "--json"});
  EXPECT_EQ(json.exit_code, 1);
  const Json broken = Json::parse(json.out).at("broken");
  ASSERT_EQ(broken.size(), 5u);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"cut.png", "truncated"},
      {"cut.jpg", "truncated"},
      {"huge.png", "31623"},
      {"empty.png", "empty"},
      {"absent.png", "No such file"}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(broken[i].at("path"), folder.file("images/" + expected[i].first));
    const std::string problem = broken[i].at("problem");
    EXPECT_THAT(problem, HasSubstr(expected[i].first));
    EXPECT_THAT(problem, HasSubstr(expected[i].second));
  }
}

TEST(DataCommand, ReportsClassesWithOneImage) {
  const TempDir folder;
  folder.write("a.png", grey_png());
  const std::string list =
      folder.write("list.csv",
                   "path,label,split\na.png,3,train\na.png,3,train\n"
                   "a.png,8,train\na.png,9,test\n");
  const Json json =
      Json::parse(expect_success({"data", "check", list, "--json"}).out);
  const Json& train = json.at("splits").at("train");
  EXPECT_EQ(train.at("classes"), 2);
  EXPECT_EQ(train.at("min_per_class"), 1);
  EXPECT_EQ(train.at("max_per_class"), 2);
  EXPECT_EQ(train.at("single_classes"), Json::array({8}));
  EXPECT_EQ(json.at("splits").at("test").at("single_classes"),
            Json::array({9}));
  EXPECT_THAT(expect_success({"data", "check", list}).out,
              HasSubstr("they cannot be found (class 8)"));
}

TEST(DataCommand, NamesClasses) {
  const TempDir folder;
  folder.write("a.png", grey_png());
  const std::string list =
      folder.write("list.csv",
                   "path,label,split\na.png,wren,train\na.png,wren,train\n"
                   "a.png,owl,train\nb.png,robin,test\n");
  const ProgramResult text = run_kith({"data", "check", list});
  EXPECT_EQ(text.exit_code, 1);
  for (const char* part :
       {"min 1 ('owl')", "max 2 ('wren')", "they cannot be found ('owl')",
        "of 1 classes no image can be read ('robin')"}) {
    EXPECT_THAT(text.out, HasSubstr(part));
  }
  const Json json =
      Json::parse(run_kith({"data", "check", list, "--json"}).out);
  EXPECT_EQ(json.at("splits").at("train").at("single_class_names"),
            Json::array({"owl"}));
  EXPECT_EQ(json.at("lost_classes"), Json::array({"robin"}));
}

TEST(DataCommand, NamesTheLineThatIsWrong) {
  const TempDir folder;
  const auto refused = [&](const std::string& text,
                           const std::vector<std::string_view>& parts,
                           int exit_code = 1) {
    const std::string list = folder.write("list.csv", text);
    expect_failure(exit_code, {"data", "check", list}, parts);
  };
  refused("path,label,split\na.png,1,train\nb.png,,train\n",
          {"list.csv:3", "empty label"});
  refused("path,label,split\na.png,1,trian\n",
          {"list.csv:2", "'trian'", "did you mean 'train'?"});
  refused("path,split\na.png,train\n", {"list.csv", "label"});
  refused("path,label,split\n", {"list.csv", "no images"});
  refused("", {"list.csv", "empty"});
}

TEST(DataCommand, RefusesWhatIsNotThere) {
  const TempDir folder;
  const std::string missing = folder.file("missing");
  expect_failure(1, {"data", "check", missing}, {missing, "No such file"});
  expect_failure(1, {"data", "check", folder.path()},
                 {folder.path(), "no images", "<class>"});
  const std::string config = folder.write("c.yaml", "train: {epochs: 1}\n");
  expect_failure(2, {"data", "check", config}, {config, "'data'"});
  expect_failure(2,
                 {"data", "make", "glyphs", "--out", missing, "--classes", "1"},
                 {"--classes", "1"});
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST(DataCommand, PutsCountsBesideThePublishedOnes) {
  const TempDir folder;
  write_cub(folder);
  const std::string out = expect_success({"data", "check", folder.path()}).out;
  EXPECT_THAT(out, HasSubstr("2 images (published 5864)"));
  EXPECT_THAT(out, HasSubstr("2 classes (published 100)"));
  EXPECT_THAT(out, HasSubstr("warning: the test split has 2 images, but "
                             "the published number is 5924"));
  EXPECT_THAT(out, HasSubstr("checked 4 images, 0 broken"));
  const Json json = Json::parse(
      expect_success({"data", "check", folder.path(), "--json"}).out);
  EXPECT_EQ(json.at("splits").at("train").at("published_images"), 5864);
  EXPECT_EQ(json.at("splits").at("test").at("published_classes"), 100);
  EXPECT_EQ(json.at("published_differences").size(), 4u);
}

TEST(DataCommand, FindsPicturesThatAreMissingOrOutsideTheirBox) {
  const TempDir folder;
  write_cars_devkit(folder, true);
  std::filesystem::remove(folder.file("cars_test/00002.jpg"));
  folder.write("cars_train/00001.jpg", grey_png());
  const std::string config = folder.write(
      "cars.yaml",
      "data: {name: cars196, crop_boxes: true, path: " + folder.path() + "}\n");
  const ProgramResult result = run_kith({"data", "check", config});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out,
              HasSubstr("cars_test/00002.jpg: cannot open: No such"));
  EXPECT_THAT(result.out, HasSubstr("holds nothing of the picture of 1 x 1"));
  EXPECT_THAT(result.out, HasSubstr("checked 4 images, 2 broken"));
}

TEST(DataCommand, WarnsOfClassesInTrainingAndTest) {
  const TempDir folder;
  folder.write("a.png", grey_png());
  const std::string list = folder.write(
      "list.csv", "path,label,split\na.png,3,train\na.png,3,test\n");
  EXPECT_THAT(expect_success({"data", "check", list}).out,
              HasSubstr("warning: 1 training classes are in another split too "
                        "(first: 3)"));
  const ProgramResult json = expect_success({"data", "check", list, "--json"});
  EXPECT_EQ(Json::parse(json.out).at("shared_classes"), 1);
  EXPECT_THAT(json.err, HasSubstr("both in the training and in the test"));
}

}  // namespace
}  // namespace kith
