// Images that cannot be read: found, listed, left out.
#include "kith/data/left_out.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/progress.h"
#include "kith/data/check.h"
#include "kith/data/file_sets.h"
#include "kith/image/encode.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class LeftOut : public ::testing::Test {
 protected:
  LeftOut() {
    for (const char* name : {"a.png", "c.png", "e.png"}) {
      write_png(dir_.file(name), Image(2, 2, 1));
    }
    dir_.write("b.png", "no picture");
    dir_.write("dataset.csv",
               "path,label,split,lists\n"
               "a.png,1,train,\nb.png,1,train,\nc.png,2,train,\n"
               "d.png,3,test,small\ne.png,3,test,small\n");
  }

  std::unique_ptr<DataSet> open(const std::string& on_broken) const {
    return make_data_set(parse_config(
        "{name: csv, path: " + dir_.path() + ", on_broken: " + on_broken + "}",
        "r"));
  }

  static std::vector<int64_t> positions(const DataSet& data) {
    std::vector<int64_t> found;
    for (const BrokenImage& image : data.left_out()) {
      found.push_back(image.position);
    }
    return found;
  }

  TempDir dir_;
  LogCapture log_;
};

TEST_F(LeftOut, StopsUnlessItIsAskedToSkip) {
  const auto data = open("stop");
  EXPECT_FALSE(data->skips_broken());
  leave_out_broken(*data, 2, silent_progress());
  EXPECT_THAT(data->list().items, SizeIs(5));
  expect_error<BrokenImageError>(
      [&] { data->load(1); }, dir_.file("b.png"), "unknown image format",
      "check the images of the data set", "'data.on_broken: skip'");
  expect_error<ConfigError>([&] { open("ignore"); }, "'data.on_broken'", "stop",
                            "skip");
}

TEST_F(LeftOut, LeavesOutWhatCannotBeReadAndSaysSo) {
  const auto data = open("skip");
  leave_out_broken(*data, 2, silent_progress());
  EXPECT_THAT(positions(*data), ElementsAre(1, 3));
  const ImageList& list = data->list();
  ASSERT_THAT(list.items, SizeIs(3));
  EXPECT_EQ(list.items[1].path, dir_.file("c.png"));
  EXPECT_EQ(list.items[1].label, 2);
  EXPECT_THAT(list.lists.at("small"), ElementsAre(2));
  ASSERT_THAT(log_.warnings(), SizeIs(1));
  EXPECT_THAT(log_.warnings()[0],
              HasSubstr("left out: 2 images that cannot be read: " +
                        dir_.file("b.png") + ", " + dir_.file("d.png")));
  EXPECT_THAT(data->left_out()[1].problem, HasSubstr("No such file"));
}

TEST_F(LeftOut, LooksAtOneSplitAlone) {
  const auto data = open("skip");
  leave_out_broken(*data, 1, silent_progress(), Split::kTest);
  EXPECT_THAT(positions(*data), ElementsAre(3));
}

TEST_F(LeftOut, RefusesToLeaveOutAWholeSplit) {
  dir_.write("e.png", "");
  const auto data = open("skip");
  expect_error<DataError>(
      [&] { leave_out_broken(*data, 1, silent_progress()); },
      "none of the 2 images of the test split");
}

TEST_F(LeftOut, IsTheSameFromItsList) {
  const auto data = open("skip");
  leave_out_broken(*data, 2, silent_progress());
  const std::string file = dir_.file("left_out.csv");
  write_left_out(file, data->left_out());
  write_png(dir_.file("b.png"), Image(2, 2, 1));  // repaired meanwhile
  const auto again = open("skip");
  again->leave_out(read_left_out(file));
  EXPECT_EQ(positions(*again), positions(*data));
  EXPECT_EQ(again->left_out()[0].problem, data->left_out()[0].problem);
  ASSERT_THAT(again->list().items, SizeIs(3));
  EXPECT_EQ(again->list().items[1].path, data->list().items[1].path);

  dir_.write("dataset.csv", "path,label,split\na.png,1,train\nc.png,1,test\n");
  expect_error<DataError>([&] { open("skip")->leave_out(read_left_out(file)); },
                          "b.png", "the data were changed since");
}

TEST_F(LeftOut, IsInTheSectionOnlyIfItSkips) {
  const auto section = [&](const std::string& on_broken) {
    return to_yaml(complete_data_section(parse_config(
        "{name: csv, path: x, on_broken: " + on_broken + "}", "r")));
  };
  EXPECT_THAT(section("skip"), HasSubstr("on_broken: skip"));
  EXPECT_EQ(section("stop").find("on_broken"), std::string::npos);
  EXPECT_THAT(to_yaml(open("skip")->section()), HasSubstr("on_broken: skip"));
}

TEST_F(LeftOut, NamesTheFirstFewOfMany) {
  std::vector<BrokenImage> many(8, {0, "x.png", "x.png: is bad"});
  EXPECT_EQ(left_out_text(many),
            "8 images that cannot be read: x.png, x.png, x.png, x.png, x.png "
            "and 3 more");
}

}  // namespace
}  // namespace kith
