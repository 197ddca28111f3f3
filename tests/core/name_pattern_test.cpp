#include "kith/core/name_pattern.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

using ::testing::ElementsAre;

const std::vector<std::string> kSomeNames = {
    "backbone.layer1.0.conv1.weight", "backbone.layer1.0.bn1.bias",
    "backbone.layer10.conv1.weight", "head.linear.weight", "head.linear.bias"};

std::vector<std::string> fitting(const std::vector<std::string>& patterns) {
  return names_that_fit("train.freeze", "parameter", patterns, kSomeNames);
}

TEST(NamePattern, StandsForAnyCharactersOrOne) {
  EXPECT_TRUE(fits_pattern("*", "a.b"));
  EXPECT_TRUE(fits_pattern("a*", "a"));
  EXPECT_TRUE(fits_pattern("*.bias", "a.b.bias"));
  EXPECT_TRUE(fits_pattern("a.?.c", "a.1.c"));
  EXPECT_TRUE(fits_pattern("*b*b*", "abcb"));
  EXPECT_FALSE(fits_pattern("a.?.c", "a.10.c"));
  EXPECT_FALSE(fits_pattern("*.bias", "a.bias2"));
  EXPECT_FALSE(fits_pattern("", "a"));
  // Neither takes long.
  std::string stars;
  for (int i = 0; i < 200; ++i) stars += "*a";
  EXPECT_FALSE(fits_pattern(stars + "b", std::string(2000, 'a')));
}

TEST(NamePattern, MeansWhatLiesBelow) {
  EXPECT_TRUE(fits_pattern("a.b", "a.b.c.d"));
  EXPECT_TRUE(fits_pattern("a.*", "a.b.c.d"));
  EXPECT_TRUE(fits_pattern("*.b", "a.b.c.d"));
  EXPECT_FALSE(fits_pattern("a.b", "a.bc"));
}

TEST(NamePattern, ChoosesInTheOrderOfTheNames) {
  EXPECT_THAT(fitting({"head.linear.bias", "backbone.layer1"}),
              ElementsAre(kSomeNames[0], kSomeNames[1], kSomeNames[4]));
  EXPECT_THAT(fitting({"*.bias", "*.bn1.bias"}),
              ElementsAre(kSomeNames[1], kSomeNames[4]));
  EXPECT_TRUE(fitting({}).empty());
}

TEST(NamePattern, ThatFitsNothingIsToldTheNearest) {
  expect_error<ConfigError>(
      [] {
        fitting({"*.weight", "backbone.layer2.*"});
      },
      "'train.freeze': 'backbone.layer2.*' fits no "
      "parameter; the nearest names are backbone.layer1");
  expect_error<ConfigError>([] { fitting({"linear"}); },
                            "'linear' fits no parameter");
  expect_error<ConfigError>(
      [] { names_that_fit("model.lora.targets", "layer", {"*"}, {}); },
      "'*' fits no layer, which has none");
}

TEST(NamePattern, DistanceCountsChanges) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

}  // namespace
}  // namespace kith
