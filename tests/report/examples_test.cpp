#include "kith/report/examples.h"

#include <gtest/gtest.h>

#include "kith/eval/query_neighbours.h"
#include "tests/support/torch/embedded_set.h"

namespace kith {
namespace {

/// Queries with these average precisions, below zero: without positives.
Diagnostics with_precisions(const std::vector<double>& values,
                            const std::vector<int64_t>& labels) {
  Diagnostics result;
  result.query_labels = labels;
  for (const double value : values) {
    QueryDiagnosis query;
    if (value >= 0) {
      query.average_precision = value;
      query.nearest_positive_rank = 1;
    }
    result.queries.push_back(query);
  }
  return result;
}

EvalTask task_of(int64_t queries) {
  EvalTask task;
  for (int64_t i = 0; i < queries; ++i) task.queries.push_back(100 + i);
  task.gallery = task.queries;
  return task;
}

TEST(Examples, TakesTwoHardQueriesOfAClass) {
  Diagnostics run = with_precisions({0.1, 0.2, 0.3, 0.4, 0.5}, {7, 7, 7, 8, 9});
  run.hardest = {0, 1, 2, 3, 4};
  InsightOptions options;
  options.queries = 3;
  const auto chosen = choose_queries(task_of(5), {run}, options);
  ASSERT_EQ(chosen.size(), 2U);
  EXPECT_EQ(chosen[0].title, "Random");
  EXPECT_EQ(chosen[0].queries, draw_queries(task_of(5), 3, 0));
  EXPECT_EQ(chosen[1].title, "Hardest");
  EXPECT_EQ(chosen[1].queries, (std::vector<int64_t>{0, 1, 3}));
  EXPECT_EQ(chosen[1].note.find("last run"), std::string::npos);
}

TEST(Examples, OrdersByGainFromTheFirstRunToTheLast) {
  const std::vector<int64_t> labels = {1, 2, 3, 4, 5};
  const Diagnostics first = with_precisions({0.5, 0.5, 0.5, -1, 0.5}, labels);
  const Diagnostics other = with_precisions({1, 0, 0, -1, 0}, labels);
  Diagnostics last = with_precisions({0.5, 0.75, 1, -1, 0.75}, labels);
  last.hardest = {0, 1, 4, 2};
  const auto chosen = choose_queries(task_of(5), {first, other, last}, {});
  ASSERT_EQ(chosen.size(), 3U);
  EXPECT_EQ(chosen[1].queries, last.hardest);
  EXPECT_EQ(chosen[2].title, "Most improved");
  EXPECT_EQ(chosen[2].queries, (std::vector<int64_t>{2, 1, 4}));
  // Nothing has improved: no such set.
  EXPECT_EQ(choose_queries(task_of(5), {last, last}, {}).size(), 2U);
}

TEST(Examples, HasOnlyRandomQueriesWhereNoneHasPositives) {
  const Diagnostics run = with_precisions({-1, -1}, {1, 2});
  EXPECT_EQ(choose_queries(task_of(2), {run, run}, {}).size(), 1U);
}

TEST(Examples, ShowsWhatEveryRunFinds) {
  const std::vector<int64_t> labels = {1, 1, 2, 2, 3};
  const GlyphList data(labels);
  // The second run knows the same images by other positions.
  const GlyphList shifted(labels, 4);
  EmbeddedRun bad{&data, embedded(at_angles({0, 50, 2, 53, 100}), labels), {}};
  EmbeddedRun good{
      &shifted, embedded(at_angles({0, 5, 50, 53, 100}), labels, 4), {}};
  const auto diagnosis_of = [](const EmbeddedRun& run) {
    return diagnose(run.split.scored(run.split.tasks.front()));
  };
  InsightOptions options;
  options.neighbours = 2;
  Thumbnails thumbnails(data, 16);
  const std::vector<ExampleSet> examples =
      make_examples({&bad, &good}, {diagnosis_of(bad), diagnosis_of(good)},
                    options, thumbnails);
  ASSERT_EQ(examples.size(), 3U);
  EXPECT_EQ(examples[0].queries.size(), 5U);
  const ExampleSet& improved = examples[2];
  ASSERT_EQ(improved.queries.size(), 4U);
  for (const ExampleQuery& query : improved.queries) {
    ASSERT_EQ(query.results.size(), 2U);
    ASSERT_EQ(query.results[0].found.size(), 2U);
    EXPECT_FALSE(query.results[0].found[0].right);
    EXPECT_GT(query.results[0].first_right, 1);
    EXPECT_TRUE(query.results[1].found[0].right);
    EXPECT_EQ(query.results[1].first_right, 1);
    EXPECT_EQ(query.results[1].average_precision, 1);
    EXPECT_GT(query.results[1].found[0].similarity,
              query.results[1].found[1].similarity);
  }
  for (const ExampleQuery& query : improved.queries) {
    if (query.picture != thumbnails.place(0)) continue;
    EXPECT_EQ(query.results[0].found[0].picture, thumbnails.place(2));
    EXPECT_EQ(query.results[1].found[0].picture, thumbnails.place(1));
  }
  // The only item of class 3 has no positives, in the random set alone.
  for (const ExampleQuery& query : examples[0].queries) {
    if (query.picture != thumbnails.place(4)) continue;
    EXPECT_EQ(query.results[0].first_right, 0);
    EXPECT_EQ(query.results[0].average_precision, 0);
  }
}

}  // namespace
}  // namespace kith
