#include "kith/data/image_list.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

using Indices = std::vector<int64_t>;

Item item(int64_t label, Split split) {
  Item result;
  result.path = std::to_string(label) + ".png";
  result.label = label;
  result.split = split;
  return result;
}

ImageList small_list() {
  ImageList list;
  list.items = {item(5, Split::kTrain), item(7, Split::kTest),
                item(5, Split::kTrain), item(9, Split::kValidation),
                item(6, Split::kTrain), item(7, Split::kTest)};
  list.class_names = {{5, "five"}, {7, "seven"}};
  return list;
}

TEST(ParseSplit, KnowsTheNames) {
  for (const Split split : {Split::kTrain, Split::kTest, Split::kValidation}) {
    EXPECT_EQ(parse_split(split_name(split), ""), split);
  }
  EXPECT_EQ(parse_split("val", ""), Split::kValidation);
}

TEST(ParseSplit, NamesTheNearest) {
  expect_error<DataError>([] { parse_split("trian", "list.csv:7"); },
                          "list.csv:7: unknown split 'trian'",
                          "did you mean 'train'?", "test, validation");
  expect_error<DataError>([] { parse_split("", "here"); }, "here: ");
  expect_error<DataError>([] { parse_split("Test", ""); }, "'test'");
}

TEST(ImageList, GivesTheImagesOfASplit) {
  const ImageList list = small_list();
  EXPECT_EQ(list.of_split(Split::kTrain), (Indices{0, 2, 4}));
  EXPECT_EQ(list.of_split(Split::kTest), (Indices{1, 5}));
  EXPECT_EQ(list.labels({4, 0, 1}), (Indices{6, 5, 7}));
  EXPECT_THROW(list.labels({6}), std::out_of_range);
  EXPECT_TRUE(ImageList().of_split(Split::kTrain).empty());
}

TEST(ImageList, NamesAClassOrItsNumber) {
  EXPECT_EQ(small_list().class_name(5), "five");
  EXPECT_EQ(small_list().class_name(6), "6");
}

TEST(Summarise, CountsImagesAndClasses) {
  const SplitSummary train = summarise(small_list(), Split::kTrain);
  EXPECT_EQ(train.split, Split::kTrain);
  EXPECT_EQ(train.images, 3);
  EXPECT_EQ(train.classes, 2);
  EXPECT_EQ(train.min_per_class, 1);
  EXPECT_EQ(train.median_per_class, 2);
  EXPECT_EQ(train.max_per_class, 2);
  EXPECT_EQ(train.single_classes, (Indices{6}));
  const SplitSummary none = summarise(ImageList(), Split::kTest);
  EXPECT_EQ(none.images, 0);
  EXPECT_EQ(none.classes, 0);
  EXPECT_TRUE(none.single_classes.empty());
}

TEST(SharedClasses, AreThoseOfTrainingAndAnotherSplit) {
  ImageList list = small_list();
  EXPECT_TRUE(shared_classes(list).empty());
  list.items.push_back(item(9, Split::kTrain));
  list.items.push_back(item(5, Split::kTest));
  EXPECT_EQ(shared_classes(list), (Indices{5, 9}));
  // Test and validation may share.
  list = small_list();
  list.items.push_back(item(7, Split::kValidation));
  EXPECT_TRUE(shared_classes(list).empty());
}

TEST(AddRotatedClasses, TurnsEveryTrainingClassIntoFour) {
  ImageList list = small_list();
  list.items[0].category = "digits";
  add_rotated_classes(list);
  EXPECT_EQ(list.items.size(), 6u + 3 * 3);
  const SplitSummary train = summarise(list, Split::kTrain);
  EXPECT_EQ(train.classes, 8);
  EXPECT_EQ(train.images, 12);
  EXPECT_TRUE(shared_classes(list).empty());
  std::set<std::pair<std::string, int>> copies;
  for (const int64_t i : list.of_split(Split::kTrain)) {
    const Item& image = list.items[static_cast<size_t>(i)];
    EXPECT_EQ(image.label % 4, image.quarter_turns);
    EXPECT_EQ(image.path, std::to_string(image.label / 4) + ".png");
    copies.emplace(image.path, image.quarter_turns);
  }
  EXPECT_EQ(copies.size(), 8u);
  EXPECT_EQ(list.items[6].category, "digits");
}

TEST(AddRotatedClasses, LeavesTheOtherSplitsUpright) {
  ImageList list = small_list();
  const Indices test = list.of_split(Split::kTest);
  add_rotated_classes(list);
  EXPECT_EQ(list.of_split(Split::kTest), test);
  EXPECT_EQ(list.labels(test), (Indices{28, 28}));
  for (const int64_t i : test) {
    EXPECT_EQ(list.items[static_cast<size_t>(i)].quarter_turns, 0);
  }
}

TEST(AddRotatedClasses, KeepsWhatClassesAreCalled) {
  ImageList list = small_list();
  add_rotated_classes(list);
  EXPECT_EQ(list.class_name(20), "five");
  EXPECT_EQ(list.class_name(21), "five turned 90");
  EXPECT_EQ(list.class_name(23), "five turned 270");
  EXPECT_EQ(list.class_name(28), "seven");
  EXPECT_EQ(list.class_name(24), "6");
  EXPECT_EQ(list.class_name(26), "6 turned 180");
  EXPECT_EQ(list.class_name(36), "9");
}

TEST(AddRotatedClasses, KeepsNegativeLabelsApart) {
  ImageList list;
  list.items = {item(-1, Split::kTrain), item(0, Split::kTrain),
                item(-2, Split::kTest)};
  add_rotated_classes(list);
  EXPECT_EQ(summarise(list, Split::kTrain).classes, 8);
  EXPECT_TRUE(shared_classes(list).empty());
}

TEST(AddRotatedClasses, RefusesLabelsThatWouldOverflow) {
  for (const int64_t label : {INT64_MAX, INT64_MIN, INT64_MAX / 4 + 1}) {
    ImageList list;
    list.items = {item(label, Split::kTest)};
    expect_error<DataError>([&] { add_rotated_classes(list); },
                            std::to_string(label), ".png", "too large");
  }
}

ImageList training_list(int64_t classes) {
  ImageList list;
  for (int64_t label = classes; label >= 1; --label) {
    list.items.push_back(item(label, Split::kTrain));
    list.items.push_back(item(label, Split::kTrain));
  }
  list.items.push_back(item(classes + 1, Split::kTest));
  return list;
}

TEST(HoldOutClasses, TakesTheLastShareOfTheTrainingClasses) {
  const auto held_out = [](int64_t classes, double share) {
    ImageList list = training_list(classes);
    hold_out_classes(list, share);
    const int64_t held = summarise(list, Split::kValidation).classes;
    EXPECT_EQ(list.items.size(), static_cast<size_t>(2 * classes + 1));
    EXPECT_EQ(summarise(list, Split::kTrain).classes, classes - held);
    EXPECT_EQ(summarise(list, Split::kTest).images, 1);
    for (const Item& image : list.items) {
      if (image.split == Split::kTest) continue;
      EXPECT_EQ(image.split == Split::kValidation,
                image.label > classes - held);
    }
    EXPECT_TRUE(shared_classes(list).empty());
    return held;
  };
  EXPECT_EQ(held_out(98, 0.5), 49);
  EXPECT_EQ(held_out(100, 0.2), 20);
  EXPECT_EQ(held_out(10, 0.25), 2);  // 7.5 + 0.5 remain
  EXPECT_EQ(held_out(2, 0.5), 1);
}

TEST(HoldOutClasses, KeepsRotationsTogetherAndTestsUpright) {
  ImageList list = training_list(3);
  add_rotated_classes(list);
  hold_out_classes(list, 0.34);
  EXPECT_EQ(summarise(list, Split::kTrain).classes, 2 * 4);
  EXPECT_EQ(list.labels(list.of_split(Split::kValidation)), (Indices{12, 12}));
  EXPECT_EQ(list.items.size(), 2u * 8 + 2 + 1);
}

TEST(HoldOutClasses, PositionsFollowTheirItems) {
  ImageList list;
  list.items = {item(1, Split::kTrain), item(2, Split::kTrain)};
  add_rotated_classes(list);
  for (int64_t label = 10; label < 14; ++label) {
    list.items.push_back(item(4 * label, Split::kTest));
  }
  list.truths = {{8, {9}, {10}, {11}}};
  list.lists["small"] = {9, 11};
  hold_out_classes(list, 0.5);
  ASSERT_EQ(list.items.size(), 9u);  // three rotations are left out
  const auto label = [&](int64_t position) {
    return list.items[static_cast<size_t>(position)].label / 4;
  };
  const QueryTruth& truth = list.truths.at(0);
  EXPECT_EQ(label(truth.query), 10);
  EXPECT_EQ(label(truth.easy.at(0)), 11);
  EXPECT_EQ(label(truth.hard.at(0)), 12);
  EXPECT_EQ(label(truth.junk.at(0)), 13);
  EXPECT_EQ(list.lists.at("small"), (Indices{truth.easy[0], truth.junk[0]}));
}

TEST(HoldOutClasses, RefusesWhatCannotBe) {
  ImageList own = small_list();
  expect_error<ConfigError>([&] { hold_out_classes(own, 0.5); },
                            "validation split of its own", "9.png");
  for (const double share : {0., 0.01, 0.99, 1., -1., 2.}) {
    ImageList list = training_list(4);
    expect_error<ConfigError>([&] { hold_out_classes(list, share); },
                              "4 training classes");
    EXPECT_TRUE(list.of_split(Split::kValidation).empty());
  }
  ImageList none;
  expect_error<ConfigError>([&] { hold_out_classes(none, 0.5); },
                            "0 training classes");
}

TEST(HoldOutFold, EveryClassValidatesInOneFold) {
  Indices seen;
  for (int64_t fold = 1; fold <= 4; ++fold) {
    ImageList list = training_list(10);
    hold_out_fold(list, 4, fold);
    const SplitSummary held = summarise(list, Split::kValidation);
    EXPECT_EQ(held.classes, fold % 2 == 0 ? 3 : 2);
    EXPECT_EQ(summarise(list, Split::kTrain).classes, 10 - held.classes);
    EXPECT_EQ(summarise(list, Split::kTest).images, 1);
    EXPECT_TRUE(shared_classes(list).empty());
    Indices labels = list.labels(list.of_split(Split::kValidation));
    std::sort(labels.begin(), labels.end());
    labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
    seen.insert(seen.end(), labels.begin(), labels.end());
  }
  EXPECT_EQ(seen, (Indices{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(HoldOutFold, KeepsRotationsTogether) {
  ImageList list = training_list(4);
  add_rotated_classes(list);
  hold_out_fold(list, 2, 1);
  EXPECT_EQ(summarise(list, Split::kTrain).classes, 2 * 4);
  EXPECT_EQ(summarise(list, Split::kValidation).classes, 2);
}

TEST(HoldOutFold, RefusesMoreFoldsThanClasses) {
  ImageList list = training_list(3);
  expect_error<ConfigError>([&] { hold_out_fold(list, 2, 3); }, "fold 3 of 2");
  expect_error<ConfigError>([&] { hold_out_fold(list, 4, 1); },
                            "3 training classes", "4 folds", "train.folds");
  ImageList own = small_list();
  expect_error<ConfigError>([&] { hold_out_fold(own, 2, 1); },
                            "validation split of its own");
}

}  // namespace
}  // namespace kith
