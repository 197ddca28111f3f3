#include "kith/report/class_scores.h"

#include <gtest/gtest.h>

#include "tests/support/torch/embedded_set.h"

namespace kith {
namespace {

/// Classes 1 and 2 lie mixed, 3 apart, 4 has one item.
class ClassScores : public ::testing::Test {
 protected:
  const std::vector<int64_t> labels_ = {1, 1, 2, 2, 3, 3, 4};
  const GlyphList data_{labels_};
  const EmbeddedSplit split_ =
      embedded(at_angles({0, 50, 2, 53, 103, 104, 10}), labels_);
  const Diagnostics found_ = diagnose(split_.scored(split_.tasks[0]));
};

TEST_F(ClassScores, AreMeansOverTheQueriesOfAClass) {
  const std::vector<ClassScore> scores = class_scores(found_, data_.list());
  ASSERT_EQ(scores.size(), 3U);  // class 4 has no positives
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(scores[i].label, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(scores[i].queries, 2);
  }
  EXPECT_EQ(scores[0].name, "class 1");
  EXPECT_EQ(scores[0].recall, 0);
  // 50 degrees come third after 2 and 10; 0 comes fourth after 53, 10 and 2.
  EXPECT_NEAR(scores[0].average_precision, (1.0 / 3 + 1.0 / 4) / 2, 1e-12);
  EXPECT_EQ(scores[2].recall, 1);
  EXPECT_EQ(scores[2].average_precision, 1);
}

TEST_F(ClassScores, ConfusedClassesShowTheMostSimilarPair) {
  Thumbnails thumbnails(data_, 32);
  const std::vector<ConfusedClasses> pairs =
      confused_classes(found_, split_.tasks[0], data_.list(), thumbnails);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].from, "class 1");
  EXPECT_EQ(pairs[0].to, "class 2");
  EXPECT_EQ(pairs[0].count, 2);
  EXPECT_EQ(pairs[0].share, 1);
  EXPECT_EQ(pairs[0].reverse, 2);
  EXPECT_EQ(pairs[0].from_picture, thumbnails.place(0));
  EXPECT_EQ(pairs[0].to_picture, thumbnails.place(2));
  EXPECT_EQ(pairs[1].from_picture, pairs[0].to_picture);
}

}  // namespace
}  // namespace kith
