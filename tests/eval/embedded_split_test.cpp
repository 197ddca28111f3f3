#include "kith/eval/embedded_split.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/eval/twelve_images.h"

namespace kith {
namespace {

std::vector<NamedMetric> metrics() {
  return parse_metrics({"recall_any@1", "map"});
}

TEST(EmbeddedSplit, OneTaskWithoutANameIsOnePart) {
  const EmbeddedSplit whole = twelve_images({{"", {}, {}}});
  EvalTask task{"", whole.rows_of, whole.rows_of};
  const EmbeddedSplit split = twelve_images({task});
  const Scored scored = split.scored(task);
  EXPECT_TRUE(scored.gallery.same_as(scored.queries));
  EvaluateOptions options;
  options.bootstrap = 50;
  const EvalResult result = evaluate_split(split, metrics(), options);
  const EvalResult direct = evaluate(scored, metrics(), options);
  ASSERT_EQ(result.parts.size(), 1u);
  EXPECT_EQ(result.metrics[1].name, "map");
  EXPECT_EQ(result.at("map"), direct.at("map"));
  EXPECT_EQ(result.metrics[1].interval->low, direct.metrics[1].interval->low);
  EXPECT_EQ(result.parts[0].queries, 12);
  EXPECT_TRUE(result.parts[0].self_excluded);
}

TEST(EmbeddedSplit, PartsAreNamedAndDrawsAveraged) {
  const EvalTask small{"small", {10, 11, 12, 13}, {10, 11, 12, 13, 14}};
  const EvalTask first{"large", {10, 11, 13, 14}, {12, 15, 18}};
  const EvalTask second{"large", {11, 12, 14, 15}, {10, 13, 19}};
  const EmbeddedSplit split = twelve_images({small, first, second});
  EvaluateOptions options;
  options.bootstrap = 20;
  options.by_query = true;
  const EvalResult result = evaluate_split(split, metrics(), options);
  ASSERT_EQ(result.parts.size(), 2u);
  EXPECT_EQ(result.parts[1].name, "large");
  EXPECT_EQ(result.parts[1].draws, 2);
  EXPECT_EQ(result.parts[1].query_labels.size(), 8u);
  EXPECT_EQ(result.metrics[3].by_query.size(), 8u);
  EXPECT_EQ(result.metrics[3].part, 1u);
  const double a = evaluate(split.scored(first), metrics()).at("map");
  const double b = evaluate(split.scored(second), metrics()).at("map");
  EXPECT_DOUBLE_EQ(result.at("large/map"), (a + b) / 2);
  // Student's t of two values: 12.706 |a - b| / 2.
  EXPECT_NEAR(result.metrics[3].interval->high - result.at("large/map"),
              12.706 * std::abs(a - b) / 2, 1e-9);
  EXPECT_EQ(result.at("map"), result.at("small/map"));
  EXPECT_NE(result.protocol_line().find("large: 4 queries, gallery of 3"),
            std::string::npos);
  EXPECT_NE(result.protocol_line().find("mean of 2 draws"), std::string::npos);
}

TEST(EmbeddedSplit, ListsAreUsedInsteadOfLabels) {
  EvalTask task{"easy", {10, 11}, {12, 13, 14, 15}};
  task.lists.positives = {{0, 3}, {}};
  task.lists.junk = {{1}, {2}};
  const EmbeddedSplit split = twelve_images({task});
  const EvalResult result = evaluate_split(split, metrics());
  EXPECT_EQ(result.parts[0].without_positives, 1);
  EXPECT_EQ(result.parts[0].junk, 2);
  // By hand: the ranking of image 10 among items 0, 2 and 3, without item 1.
  const Tensor s =
      torch::mv(split.embeddings.slice(0, 2, 6), split.embeddings[0]);
  const auto value = s.accessor<float, 1>();
  const auto rank = [&](int64_t item) {
    int64_t nearer = 0;
    for (const int64_t other : {0, 2, 3}) nearer += value[other] > value[item];
    return static_cast<double>(nearer + 1);
  };
  const double low = std::min(rank(0), rank(3));
  const double high = std::max(rank(0), rank(3));
  EXPECT_NEAR(result.at("easy/map"), (1 / low + 2 / high) / 2, 1e-12);
}

}  // namespace
}  // namespace kith
