#include "kith/data/data_set.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/file_sets.h"
#include "kith/data/generated_sets.h"
#include "kith/data/image_files.h"
#include "kith/image/encode.h"
#include "tests/support/set_test.h"

namespace kith {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FolderSet : public SetTest<FolderDataSet> {
 protected:
  FolderSet() : SetTest("folder") {}

  void add(const std::string& path, std::string_view contents = "") const {
    write(path, contents);
  }
};

TEST_F(FolderSet, TakesTheLastClassesForTesting) {
  for (const char* path :
       {"d/1.png", "b/2.PNG", "b/1.jpg", "a/x/1.jpeg", "c/1.png"}) {
    add(path);
  }
  const auto set = open();
  EXPECT_THAT(contents(*set), ElementsAre("train/0:a/x/1.jpeg",
                                          "train/1:b/1.jpg", "train/1:b/2.PNG",
                                          "test/2:c/1.png", "test/3:d/1.png"));
  EXPECT_EQ(set->list().class_name(2), "c");
  EXPECT_FALSE(set->list().has_query_gallery);
  EXPECT_THAT(log_.warnings(), IsEmpty());
}

TEST_F(FolderSet, TestFractionSaysHowMany) {
  for (char name = 'a'; name <= 'j'; ++name) {
    add(std::string(1, name) + "/1.png");
  }
  const auto train = [&](double fraction) {
    const auto set = open({.test_fraction = fraction});
    EXPECT_EQ(set->list().items.size(), 10u);
    return set->list().of_split(Split::kTrain).size();
  };
  EXPECT_EQ(train(0), 10u);
  EXPECT_EQ(train(0.3), 7u);
  EXPECT_EQ(train(0.5), 5u);
  EXPECT_EQ(train(1), 0u);
  expect_error<ConfigError>([&] { train(1.5); }, "folder.test_fraction",
                            "[0, 1]");
}

TEST_F(FolderSet, ReadsSplitFolders) {
  for (const char* path :
       {"train/b/1.png", "train/a/1.png", "test/c/1.png", "val/d/1.png"}) {
    add(path);
  }
  EXPECT_THAT(contents(*open()),
              ElementsAre("test/2:test/c/1.png", "train/0:train/a/1.png",
                          "train/1:train/b/1.png", "validation/3:val/d/1.png"));
  EXPECT_THAT(log_.warnings(), IsEmpty());
}

TEST_F(FolderSet, GivesAClassInTwoSplitsOneNumber) {
  for (const char* path : {"train/a/1.png", "train/b/1.png", "test/b/2.png"}) {
    add(path);
  }
  EXPECT_THAT(contents(*open_data_set(dir_.path())),
              ElementsAre("test/1:test/b/2.png", "train/0:train/a/1.png",
                          "train/1:train/b/1.png"));
  EXPECT_THAT(log_.warnings(),
              ElementsAre(AllOf(HasSubstr("1 class"), HasSubstr("first: b"))));
}

TEST_F(FolderSet, RefusesAFolderBesideTheSplits) {
  add("train/a/1.png");
  add("trian/b/1.png");
  expect_error<DataError>([&] { open(); }, dir_.file("trian"),
                          "unknown split 'trian'", "'train'");
}

TEST_F(FolderSet, SkipsHiddenAndWarnsOfOtherFiles) {
  for (const char* path :
       {"a/1.png", "a/._1.png", "a/.hidden/2.png", ".git/3.png", "a/notes.txt",
        "a/more.txt", "b/1.png", "c/readme"}) {
    add(path);
  }
  EXPECT_THAT(contents(*open()),
              ElementsAre("train/0:a/1.png", "train/1:b/1.png"));
  EXPECT_THAT(log_.warnings(),
              ElementsAre(AllOf(HasSubstr(dir_.file("a")), HasSubstr("2 files"),
                                HasSubstr(dir_.file("a/more.txt"))),
                          HasSubstr(dir_.file("c/readme")),
                          AllOf(HasSubstr(dir_.file("c")),
                                HasSubstr("without images"))));
}

TEST_F(FolderSet, RefusesWhatHasNoImages) {
  expect_error<DataError>([&] { open(); }, dir_.path(), "no images");
  add("1.png");
  expect_error<DataError>([&] { open(); }, dir_.path(), "<class>/<image>");
  expect_error<DataError>(
      [&] {
        make_data_set(parse_config("{name: folder, path: /no/where}", "r"));
      },
      "/no/where", "no such folder");
  expect_error<ConfigError>(
      [&] { make_data_set(parse_config("{name: folder}", "r")); },
      "'data.path'");
}

TEST_F(FolderSet, LoadsAndRotates) {
  Image image(2, 1, 1);
  image.pixels = {10, 200};
  std::filesystem::create_directory(dir_.file("a"));
  write_png(dir_.file("a/1.png"), image);
  const auto set = open({.test_fraction = 0, .rotate_classes = true});
  ASSERT_EQ(set->list().items.size(), 4u);
  EXPECT_EQ(set->load(0).pixels, image.pixels);
  EXPECT_EQ(set->load(1).height, 2);
  EXPECT_EQ(set->load(2).pixels, (std::vector<uint8_t>{200, 10}));
}

TEST_F(FolderSet, HoldsOutClasses) {
  for (const char* path : {"a/1.png", "b/1.png", "c/1.png", "d/1.png"}) {
    add(path);
  }
  const auto set = open();
  set->hold_out_classes(0.5);
  EXPECT_THAT(contents(*set),
              ElementsAre("train/0:a/1.png", "validation/1:b/1.png",
                          "test/2:c/1.png", "test/3:d/1.png"));
}

TEST_F(FolderSet, IsOpenedForAFolderWithoutAList) {
  add("a/1.png");
  EXPECT_EQ(open_data_set(dir_.path())->list().items.size(), 1u);
}

TEST_F(FolderSet, NamesAnUnreadableFolder) {
  expect_error<DataError>([&] { find_image_files(dir_.file("no")); },
                          dir_.file("no"));
  expect_error<DataError>([&] { sub_folders(dir_.file("no")); },
                          dir_.file("no"));
}

TEST(GlyphsSet, HasTheDefaultNumbers) {
  const GlyphsDataSet set;
  const SplitSummary train = summarise(set.list(), Split::kTrain);
  const SplitSummary test = summarise(set.list(), Split::kTest);
  EXPECT_EQ(train.classes, kGlyphTrainClasses);
  EXPECT_EQ(test.classes, kGlyphClasses - kGlyphTrainClasses);
  for (const SplitSummary& split : {train, test}) {
    EXPECT_EQ(split.min_per_class, kGlyphImages);
    EXPECT_EQ(split.max_per_class, kGlyphImages);
  }
  EXPECT_TRUE(shared_classes(set.list()).empty());
}

TEST(GlyphsSet, DrawsWhatTheListSays) {
  const GlyphsDataSet set({.classes = 5, .per_class = 3, .seed = 11});
  ASSERT_EQ(set.list().items.size(), 15u);
  EXPECT_EQ(summarise(set.list(), Split::kTrain).classes, 2);
  EXPECT_EQ(set.list().items[7].path, "images/0002/001.png");
  for (int64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(set.load(i).pixels, draw_glyph(11, i / 3, i % 3).pixels);
  }
}

TEST(GlyphsSet, ChecksItsOptions) {
  const auto refused = [](GlyphsOptions options, const auto&... parts) {
    expect_error<ConfigError>([&] { GlyphsDataSet set(options); }, parts...);
  };
  refused({.classes = 1}, "glyphs.classes");
  refused({.per_class = 0}, "glyphs.per_class");
  refused({.seed = -1}, "glyphs.seed");
  const auto named = [](const std::string& yaml, const auto&... parts) {
    expect_error<ConfigError>([&] { make_data_set(parse_config(yaml, "r")); },
                              parts...);
  };
  named("{name: glyphs, classes: 1}", "data.classes");
  named("{name: glyphs, clases: 9}", "'classes'");
}

/// What is offered, and what comes without being taken.
TEST(DataSetFiles, AreOfferedWhereNothingElseIsDone) {
  const TempDir dir;
  const Image image(6, 5, 3);
  ImageList list;
  for (const char* name : {"a.png", "b.png", "c.png"}) {
    write_png(dir.file(name), image);
    list.items.push_back({.path = dir.file(name)});
  }
  list.items[1].box = Box{1, 1, 4, 3};
  list.items[2].quarter_turns = 1;
  list.items.push_back({.path = dir.file("missing.png")});
  const ListDataSet data(list);
  std::vector<std::string> offered;
  bool takes = true;
  const auto take = [&](std::span<const uint8_t> bytes,
                        const std::string& name) {
    EXPECT_EQ(bytes.size(), std::filesystem::file_size(name));
    offered.push_back(name);
    return takes;
  };
  EXPECT_FALSE(data.load_unless(0, take).has_value());
  EXPECT_EQ(data.load_unless(1, take)->width, 3);
  EXPECT_EQ(data.load_unless(2, take)->width, 5);
  EXPECT_THROW(data.load_unless(3, take), BrokenImageError);
  EXPECT_THROW(data.load_unless(4, take), ConfigError);
  EXPECT_THAT(offered, ElementsAre(dir.file("a.png")));
  takes = false;
  EXPECT_EQ(data.load_unless(0, take)->pixels, image.pixels);
  const auto refuse = [](std::span<const uint8_t>,
                         const std::string& name) -> bool {
    throw DataError(name + ": broken");
  };
  EXPECT_THROW(data.load_unless(0, refuse), BrokenImageError);
}

TEST(DataSetFiles, AreNotThoseOfDrawnPictures) {
  const GlyphsDataSet data({.classes = 2, .per_class = 2});
  const auto never = [](std::span<const uint8_t>, const std::string&) {
    ADD_FAILURE();
    return true;
  };
  EXPECT_EQ(data.load_unless(1, never)->pixels, data.load(1).pixels);
}

}  // namespace
}  // namespace kith
