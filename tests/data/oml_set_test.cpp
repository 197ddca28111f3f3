// The data set `oml`.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/file_sets.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/published_sets.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kOmlHeader = "label,path,split,is_query,is_gallery\n";
const std::string kOmlBoxHeader =
    "label,path,split,is_query,is_gallery,category,x_1,x_2,y_1,y_2\n";

class OmlSet : public ::testing::Test {
 protected:
  OmlSet() {
    for (const char* name : {"a", "b", "c"}) {
      write_picture(dir_, "images/" + std::string(name) + ".png");
    }
  }

  std::unique_ptr<DataSet> open(const std::string& path, bool crop = false) {
    return std::make_unique<OmlDataSet>(
        OmlOptions{.path = path, .crop_boxes = crop});
  }

  template <typename... Parts>
  void expect_refused(const std::string& list, const Parts&... parts) {
    SCOPED_TRACE(list);
    dir_.write("df.csv", list);
    expect_error<DataError>([&] { open(dir_.path(), crop_); },
                            dir_.file("df.csv"), parts...);
  }

  TempDir dir_;
  LogCapture log_;
  bool crop_ = false;
};

TEST_F(OmlSet, ReadsTheList) {
  dir_.write("df.csv", kOmlHeader +
                           "3,images/a.png,train,,\n"
                           "5,images/b.png,validation,True,False\n"
                           "5,images/c.png,validation,0,1\n");
  const auto set = open(dir_.path());
  const ImageList& list = set->list();
  ASSERT_EQ(list.items.size(), 3u);
  EXPECT_TRUE(list.has_query_gallery);
  EXPECT_EQ(list.items[0].split, Split::kTrain);
  EXPECT_EQ(list.items[0].label, 3);
  EXPECT_EQ(list.items[1].split, Split::kValidation);
  EXPECT_TRUE(list.items[1].is_query);
  EXPECT_FALSE(list.items[1].is_gallery);
  EXPECT_FALSE(list.items[2].is_query);
  EXPECT_TRUE(list.items[2].is_gallery);
  EXPECT_EQ(set->load(2).width, 8);
  EXPECT_FALSE(set->traits().published.has_value());
  EXPECT_EQ(open_data_set(dir_.path())->list().items.size(), 3u);
  EXPECT_TRUE(open_data_set(dir_.file("df.csv"))->list().has_query_gallery);
  EXPECT_THAT(log_.warnings(), IsEmpty());
}

TEST_F(OmlSet, CropsToBoxes) {
  dir_.write("df_with_bboxes.csv",
             kOmlBoxHeader +
                 "3,images/a.png,train,,,bird,2,5,1,4\n"
                 "3,images/a.png,train,,,bird,0.0,1.0,0.0,2.0\n"
                 "5,images/b.png,validation,True,True,cat,,,,\n");
  const auto set = open(dir_.path(), true);
  EXPECT_THAT(set->load(0).pixels,
              ElementsAre(12, 13, 14, 22, 23, 24, 32, 33, 34));
  EXPECT_THAT(set->load(1).pixels, ElementsAre(0, 10));
  EXPECT_EQ(set->load(2).width, 8);
  EXPECT_EQ(set->list().items[2].category, "cat");
  EXPECT_EQ(open(dir_.path())->load(0).width, 8);
}

TEST_F(OmlSet, TakesTheListThatFits) {
  dir_.write("df.csv", kOmlHeader + "3,images/a.png,train,,\n");
  dir_.write("df_with_bboxes.csv",
             kOmlBoxHeader + "4,images/a.png,train,,,,2,5,1,4\n");
  EXPECT_EQ(open(dir_.path())->list().items[0].label, 3);
  EXPECT_EQ(open(dir_.path(), true)->list().items[0].label, 4);
  expect_error<DataError>([&] { open(dir_.file("df.csv"), true); }, "df.csv:1",
                          "x_1", "crop_boxes: false");
}

TEST_F(OmlSet, KeepsTheRulesOfQueriesAndGalleries) {
  expect_refused(kOmlHeader +
                     "5,images/a.png,validation,True,False\n"
                     "6,images/b.png,validation,False,True\n",
                 "df.csv:2:", "label 5", "not in the gallery");
  expect_refused(kOmlHeader + "5,images/a.png,validation,False,False\n",
                 "df.csv:2:", "query", "or both");
  expect_refused(kOmlHeader + "5,images/a.png,validation,,\n",
                 "df.csv:2:", "is_query is ''", "True or False");
  expect_refused(kOmlHeader + "5,images/a.png,train,True,\n",
                 "df.csv:2:", "must be empty");
  expect_refused(kOmlHeader + "5,images/a.png,test,True,True\n",
                 "df.csv:2:", "'test'", "data set 'csv'");
}

TEST_F(OmlSet, RefusesWrongLists) {
  expect_refused("", "empty");
  expect_refused(kOmlHeader, "no images");
  expect_refused("label,path,split,is_query\n", "is_gallery");
  expect_refused(kOmlHeader + "x,images/a.png,train,,\n",
                 "df.csv:2:", "label 'x'");
  expect_refused(kOmlHeader + "1,,train,,\n", "df.csv:2:", "empty path");
  expect_refused(
      kOmlHeader + "1,images/a.png,train,,\n2,images/a.png,train,,\n",
      "df.csv:3:", "'images/a.png'", "first in line 2");
  expect_refused(kOmlHeader + "1,pictures/a.png,train,,\n");
  expect_refused("label,path,split,is_query,is_gallery,x_1\n",
                 "df.csv:1:", "come together");
  const TempDir empty;
  expect_error<DataError>([&] { open(empty.path()); }, empty.path(),
                          "df_with_bboxes.csv");
}

TEST_F(OmlSet, RefusesWrongBoxes) {
  const std::string row = "1,images/a.png,train,,,,";
  expect_refused(kOmlBoxHeader + row + "2,5,1,\n", "df.csv:2:", "all given");
  expect_refused(kOmlBoxHeader + row + "5,2,1,4\n", "df.csv:2:", "x_1 < x_2");
  expect_refused(kOmlBoxHeader + row + "2,5,1,4.5\n", "df.csv:2:", "y_2 '4.5'");
  expect_refused(kOmlBoxHeader + row + "2,5,1,nan\n", "df.csv:2:", "y_2 'nan'");
}

TEST_F(OmlSet, SaysWhatItDoesNotUse) {
  dir_.write("df.csv",
             "label,path,split,is_query,is_gallery,sequence,colour\n"
             "3,images/a.png,train,,,s1,red\n");
  open(dir_.path());
  EXPECT_THAT(log_.warnings(), ElementsAre(HasSubstr("'sequence'")));
  EXPECT_THAT(log_.notes(), ElementsAre(HasSubstr("'colour'")));
}

// The image split that OML's converters write has every class on both sides.
TEST_F(OmlSet, WarnsOfClassesOnBothSides) {
  dir_.write("df.csv", kOmlHeader +
                           "3,images/a.png,train,,\n"
                           "3,images/b.png,validation,True,True\n");
  open_data_set(dir_.path());
  EXPECT_THAT(log_.warnings(), ElementsAre(HasSubstr("1 classes are both")));
}

}  // namespace
}  // namespace kith
