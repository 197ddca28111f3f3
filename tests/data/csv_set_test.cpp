// The data set `csv`, and what all data sets share.
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/file_sets.h"
#include "kith/image/encode.h"
#include "kith/image/orientation.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A data set of this list, written to a folder of its own.
class CsvSet : public ::testing::Test {
 protected:
  std::unique_ptr<DataSet> open(const std::string& list,
                                bool rotate = false) const {
    return std::make_unique<CsvDataSet>(CsvSetOptions{
        .path = dir_.write("list.csv", list), .rotate_classes = rotate});
  }

  template <class Error, typename... Parts>
  void expect_refused(const std::string& list, const Parts&... parts) const {
    SCOPED_TRACE(list);
    expect_error<Error>([&] { open(list); }, parts...);
  }

  std::string at_line(int line) const {
    return dir_.file("list.csv:" + std::to_string(line) + ":");
  }

  // A 3 x 2 picture with another grey in every pixel.
  Image picture(uint8_t first) const {
    Image image(3, 2, 1);
    for (size_t i = 0; i < 6; ++i) {
      image.pixels[i] = static_cast<uint8_t>(first + 10 * i);
    }
    return image;
  }

  TempDir dir_;
  LogCapture log_;
};

TEST_F(CsvSet, ReadsTheColumns) {
  const auto set = open(
      "label,path,split,category,class\n"
      "3,a.png,train,latin,x\n"
      "-4,\"sub/b, c.png\",test,greek,y\n"
      "5,/abs/d.png,val,,\n");
  const std::vector<Item>& items = set->list().items;
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].path, dir_.file("a.png"));
  EXPECT_EQ(items[0].label, 3);
  EXPECT_EQ(items[0].split, Split::kTrain);
  EXPECT_EQ(items[0].category, "latin");
  EXPECT_EQ(items[1].path, dir_.file("sub/b, c.png"));
  EXPECT_EQ(items[1].label, -4);
  EXPECT_EQ(items[1].split, Split::kTest);
  EXPECT_EQ(items[2].path, "/abs/d.png");
  EXPECT_EQ(items[2].split, Split::kValidation);
  EXPECT_EQ(set->list().class_name(-4), "y");
  EXPECT_FALSE(set->list().has_query_gallery);
  EXPECT_TRUE(items[1].is_query && items[1].is_gallery);
  EXPECT_TRUE(log_.warnings().empty());
}

TEST_F(CsvSet, MentionsColumnsItDoesNotUse) {
  open("path,label,split,author,x\na.png,1,train,me,2\n");
  EXPECT_THAT(log_.notes(), ElementsAre(HasSubstr("author, x")));
}

TEST_F(CsvSet, ReadsQueriesAndGallery) {
  const auto set = open(
      "path,label,split,is_query,is_gallery\n"
      "a.png,1,train,,\n"
      "b.png,2,test,True,False\n"
      "c.png,2,test,0,1\n");
  EXPECT_TRUE(set->list().has_query_gallery);
  const std::vector<Item>& items = set->list().items;
  EXPECT_TRUE(items[1].is_query);
  EXPECT_FALSE(items[1].is_gallery);
  EXPECT_FALSE(items[2].is_query);
  EXPECT_TRUE(items[2].is_gallery);
  expect_refused<DataError>(
      "path,label,split,is_query,is_gallery\nb.png,2,test,yes,1\n", at_line(2),
      "is_query is 'yes'", "True or False");
  expect_refused<DataError>("path,label,split,is_query\na.png,1,test,1\n",
                            at_line(1), "together");
}

TEST_F(CsvSet, ReadsListsOfTestImages) {
  const auto set = open(
      "path,label,split,lists\n"
      "a.png,1,train,\n"
      "b.png,2,test,small  large\n"
      "c.png,2,test,\n"
      "d.png,2,test, large large\n");
  const auto& lists = set->list().lists;
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_THAT(lists.at("small"), ElementsAre(1));
  EXPECT_THAT(lists.at("large"), ElementsAre(1, 3));
  for (const char* split : {"train", "validation"}) {
    expect_refused<DataError>(
        std::string("path,label,split,lists\na.png,1,") + split + ",small\n",
        at_line(2), "'small'", split, "leave the column 'lists' empty");
  }
}

TEST_F(CsvSet, NumbersNamedClassesByName) {
  const auto set = open(
      "path,label,split\n"
      "a.png,wren,train\n"
      "b.png,\"owl, barn\",train\n"
      "c.png,wren,test\n"
      "d.png,finch,test\n");
  const ImageList& list = set->list();
  EXPECT_THAT(list.labels({0, 1, 2, 3}), ElementsAre(2, 1, 2, 0));
  EXPECT_EQ(list.class_name(0), "finch");
  EXPECT_EQ(list.class_name(1), "owl, barn");
  EXPECT_EQ(list.class_name(2), "wren");
  EXPECT_TRUE(log_.warnings().empty());
}

TEST_F(CsvSet, WarnsOfLabelsThatAreNamesAmongNumbers) {
  for (const char* label :
       {"cat", "1.5", "1e3", "0x1", "99999999999999999999", "+1"}) {
    const auto set = open("path,label,split\na.png,2,train\nb.png," +
                          std::string(label) + ",train\nc.png,10,train\n");
    const ImageList& list = set->list();
    EXPECT_EQ(list.class_name(list.items[0].label), "2");
    EXPECT_EQ(list.class_name(list.items[1].label), label);
    EXPECT_LT(list.items[2].label, list.items[0].label);  // "10" before "2"
    ASSERT_FALSE(log_.warnings().empty());
    EXPECT_THAT(log_.warnings().back(), HasSubstr(at_line(3)));
    EXPECT_THAT(log_.warnings().back(), HasSubstr(label));
  }
  expect_refused<DataError>("path,label,split\na.png,,train\n", at_line(2),
                            "empty label");
}

TEST_F(CsvSet, RefusesOtherFaultsOfTheList) {
  expect_refused<DataError>("path,split\na.png,train\n", "list.csv", "label");
  expect_refused<DataError>("label,split\n1,train\n", "list.csv", "path");
  expect_refused<DataError>("path,label\na.png,1\n", "list.csv", "split");
  expect_refused<DataError>("path,label,split\na.png,1,tets\n", at_line(2),
                            "unknown split 'tets'", "'test'");
  expect_refused<DataError>("path,label,split\n,1,test\n", at_line(2),
                            "empty path");
  expect_refused<DataError>("path,label,split\n", "list.csv", "no images");
}

TEST_F(CsvSet, NamesAMissingList) {
  expect_error<DataError>([&] { open_data_set(dir_.file("no.csv")); },
                          dir_.file("no.csv"), "No such file");
  ConfigNode section = ConfigNode::map();
  section.set("name", ConfigNode::text("csv"));
  expect_error<ConfigError>([&] { make_data_set(section); }, "'data.path'");
}

TEST_F(CsvSet, NamesAMissingImageWhenItIsLoaded) {
  const auto set = open("path,label,split\nno.png,1,train\n");
  expect_error<DataError>([&] { set->load(0); }, dir_.file("no.png"),
                          "No such file");
  EXPECT_THROW(set->load(1), ConfigError);
}

TEST_F(CsvSet, LoadsRelativeToTheList) {
  std::filesystem::create_directory(dir_.file("sub"));
  write_png(dir_.file("sub/a.png"), picture(7));
  const std::string list = "path,label,split\nsub/a.png,1,train\n";
  EXPECT_EQ(open(list)->load(0).pixels, picture(7).pixels);
  dir_.write("dataset.csv", list);
  EXPECT_EQ(open_data_set(dir_.path())->load(0).pixels, picture(7).pixels);
}

TEST_F(CsvSet, RotatesTrainingClassesAndTheirPixels) {
  write_png(dir_.file("a.png"), picture(0));
  write_png(dir_.file("b.png"), picture(100));
  const std::string list =
      "path,label,split\na.png,1,train\nb.png,2,test\nb.png,3,validation\n";
  const auto set = open(list, true);
  ASSERT_EQ(set->list().items.size(), 6u);
  EXPECT_EQ(summarise(set->list(), Split::kTrain).classes, 4);
  std::set<int64_t> labels;
  for (int64_t i = 0; i < 6; ++i) {
    const Item& item = set->list().items[static_cast<size_t>(i)];
    labels.insert(item.label);
    const bool train = item.split == Split::kTrain;
    const Image expected =
        rotate90(picture(train ? 0 : 100), train ? item.quarter_turns : 0);
    const Image image = set->load(i);
    EXPECT_EQ(image.width, expected.width);
    EXPECT_EQ(image.pixels, expected.pixels);
  }
  EXPECT_EQ(labels, (std::set<int64_t>{4, 5, 6, 7, 8, 12}));
  EXPECT_TRUE(log_.warnings().empty());
}

TEST_F(CsvSet, WarnsOfClassesInTrainingAndTest) {
  open_data_set(dir_.write(
      "list.csv",
      "path,label,split,class\n"
      "a,1,train,one\nb,2,train,two\nc,2,test,two\nd,3,test,three\n"));
  EXPECT_THAT(log_.warnings(),
              ElementsAre(::testing::AllOf(HasSubstr("1 class"),
                                           HasSubstr("first: two"))));
}

TEST_F(CsvSet, IsNotNeededForAListInMemory) {
  write_png(dir_.file("a.png"), picture(7));
  const ListDataSet set({.items = {{.path = dir_.file("a.png"), .label = 3},
                                   {.path = dir_.file("a.png"),
                                    .label = 4,
                                    .split = Split::kTest,
                                    .box = Box{1, 0, 3, 2}}}});
  EXPECT_EQ(set.load(0).pixels, picture(7).pixels);
  EXPECT_EQ(set.load(1).width, 2);
  EXPECT_EQ(set.list().of_split(Split::kTest), (std::vector<int64_t>{1}));
}

TEST(FileSet, HoldsFilesWithoutClasses) {
  const auto set = make_file_set({"b.png", "a.png"});
  ASSERT_EQ(set->list().items.size(), 2u);
  EXPECT_EQ(set->list().items[0].path, "b.png");
  EXPECT_EQ(set->list().items[1].split, Split::kTest);
}

}  // namespace
}  // namespace kith
