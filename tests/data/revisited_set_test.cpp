// The data set `revisited`.

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/check.h"
#include "kith/data/published_sets.h"
#include "kith/image/encode.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const char* const kTruth = R"({
  "imlist": ["a", "b", "c"], "qimlist": ["q", "r"],
  "gnd": [{"bbx": [1, 0, 3.2, 2], "easy": [2], "hard": [0], "junk": []},
          {"bbx": [0, 0, 4, 1], "easy": [], "hard": [], "junk": [1]}]})";

class RevisitedSet : public ::testing::Test {
 protected:
  RevisitedSet() {
    std::filesystem::create_directory(dir_.file("jpg"));
    dir_.write("gnd_toy.json", kTruth);
  }

  std::unique_ptr<DataSet> open(RevisitedOptions options = {}) const {
    options.path = dir_.path();
    return std::make_unique<RevisitedDataSet>(std::move(options));
  }

  TempDir dir_;
  LogCapture log_;
};

TEST_F(RevisitedSet, HasTheGalleryThenTheQueries) {
  const auto set = open();
  const ImageList& list = set->list();
  ASSERT_EQ(list.items.size(), 5u);
  EXPECT_TRUE(list.has_query_gallery);
  for (size_t i = 0; i < 5; ++i) {
    const Item& item = list.items[i];
    EXPECT_EQ(item.split, Split::kTest);
    EXPECT_EQ(item.is_query, i >= 3);
    EXPECT_EQ(item.is_gallery, i < 3);
    EXPECT_EQ(item.box.has_value(), i >= 3);
    // Labels make no positives.
    EXPECT_EQ(item.label, static_cast<int64_t>(i));
  }
  EXPECT_EQ(list.items[1].path, dir_.file("jpg/b.jpg"));
  EXPECT_EQ(list.items[4].path, dir_.file("jpg/r.jpg"));
  ASSERT_EQ(list.truths.size(), 2u);
  EXPECT_EQ(list.truths[0].query, 3);
  EXPECT_THAT(list.truths[0].easy, ElementsAre(2));
  EXPECT_THAT(list.truths[0].hard, ElementsAre(0));
  EXPECT_EQ(list.truths[1].query, 4);
  EXPECT_THAT(list.truths[1].easy, IsEmpty());
  EXPECT_THAT(list.truths[1].junk, ElementsAre(1));
  EXPECT_THAT(log_.warnings(), IsEmpty());
}

// The type of a picture is seen in its bytes, not in its name.
TEST_F(RevisitedSet, CropsQueriesToTheirBoxes) {
  Image picture(4, 2, 1);
  for (size_t i = 0; i < 8; ++i) picture.pixels[i] = static_cast<uint8_t>(i);
  write_png(dir_.file("jpg/q.jpg"), picture);
  const Image cropped = open()->load(3);
  EXPECT_EQ(cropped.width, 2);
  EXPECT_EQ(cropped.height, 2);
  EXPECT_THAT(cropped.pixels, ElementsAre(1, 2, 5, 6));
  EXPECT_EQ(open({.crop = false})->load(3).pixels, picture.pixels);
}

TEST_F(RevisitedSet, AddsDistractorsToTheGallery) {
  dir_.write("more.txt", "x/1.jpg\r\n\nx/2.jpg");
  const auto set =
      open({.distractors = "more.txt", .distractor_images = dir_.path()});
  const ImageList& list = set->list();
  ASSERT_EQ(list.items.size(), 7u);
  EXPECT_EQ(list.items[3].path, dir_.file("x/1.jpg"));
  EXPECT_EQ(list.items[4].path, dir_.file("x/2.jpg"));
  EXPECT_TRUE(list.items[4].is_gallery && !list.items[4].is_query);
  EXPECT_EQ(list.truths[0].query, 5);
  EXPECT_THAT(list.truths[0].easy, ElementsAre(2));

  expect_error<ConfigError>([&] { open({.distractors = "more.txt"}); },
                            "'revisited.distractor_images'");
  expect_error<ConfigError>(
      [&] {
        make_data_set(
            parse_config("{name: revisited, distractors: more.txt, "
                         "path: " +
                             dir_.path() + "}",
                         "r.yaml"));
      },
      "r.yaml:1: 'data.distractors' needs 'data.distractor_images'");
  dir_.write("more.txt", "\n\n");
  expect_error<DataError>(
      [&] { open({.distractors = "more.txt", .distractor_images = "jpg"}); },
      dir_.file("more.txt"), "names no images");
  expect_error<DataError>(
      [&] { open({.distractors = "none.txt", .distractor_images = "jpg"}); },
      dir_.file("none.txt"));
  expect_error<DataError>(
      [&] { open({.distractors = "more.txt", .distractor_images = "none"}); },
      dir_.file("none"), "no such folder");
}

TEST_F(RevisitedSet, TakesTheOnlyGroundTruthOrTheNamedOne) {
  dir_.write("gnd_other.json", "{}");
  expect_error<ConfigError>([&] { open(); }, "gnd_other.json, gnd_toy.json",
                            "'revisited.ground_truth'");
  EXPECT_EQ(open({.ground_truth = "gnd_toy.json"})->list().items.size(), 5u);
  expect_error<DataError>([&] { open({.ground_truth = "gnd_other.json"}); },
                          dir_.file("gnd_other.json: imlist is missing"));
  std::filesystem::remove(dir_.file("gnd_toy.json"));
  std::filesystem::remove(dir_.file("gnd_other.json"));
  expect_error<DataError>([&] { open(); }, dir_.path(), "gnd_*.pkl");
}

TEST_F(RevisitedSet, NamesWhatIsMissing) {
  expect_error<DataError>([&] { open({.images = "pictures"}); },
                          dir_.file("pictures"), "no such folder");
  dir_.write("gnd_toy.json",
             R"({"imlist": ["a"], "qimlist": ["q"],
                 "gnd": [{"easy": [0], "hard": [], "junk": []}]})");
  expect_error<DataError>([&] { open(); }, "gnd[0] has no bbx", "crop: false");
  EXPECT_EQ(open({.crop = false})->list().items.size(), 2u);
  expect_error<ConfigError>(
      [] { make_data_set(parse_config("{name: revisited}", "test")); },
      "data.path");
}

TEST_F(RevisitedSet, IsKnownByThePublishedFiles) {
  const TempDir other;
  std::filesystem::create_directory(other.file("jpg"));
  std::filesystem::copy(golden_dir() + "/ground_truth/arrays_2.pkl",
                        other.file("gnd_rparis6k.pkl"));
  const auto set = open_data_set(other.path());
  EXPECT_EQ(set->list().truths.size(), 3u);
  EXPECT_THAT(published_differences(*set),
              ElementsAre(HasSubstr("published number is 6392")));
  EXPECT_FALSE(open()->traits().published);
  EXPECT_EQ(usual_protocol("revisited"), "revisited");
}

// The folders of the published code: roxford5k and revisitop1m side by side.
TEST_F(RevisitedSet, TakesDistractorsOfTheFolderBeside) {
  const TempDir data;
  std::filesystem::create_directories(data.file("roxford5k/jpg"));
  std::filesystem::create_directories(data.file("revisitop1m/jpg"));
  data.write("roxford5k/gnd_toy.json", kTruth);
  data.write("revisitop1m/revisitop1m.txt", "00/x.jpg\n01/y.jpg\n");
  const RevisitedDataSet set({.path = data.file("roxford5k"),
                              .distractors = "../revisitop1m/revisitop1m.txt",
                              .distractor_images = "../revisitop1m/jpg"});
  ASSERT_EQ(set.list().items.size(), 7u);
  EXPECT_THAT(set.list().items[4].path,
              HasSubstr("../revisitop1m/jpg/01/y.jpg"));
}

}  // namespace
}  // namespace kith
