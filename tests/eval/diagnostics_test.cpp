#include "kith/eval/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/eval/diagnostics_json.h"
#include "kith/io/tensor_io.h"
#include "tests/eval/sets.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// The ranking of a query, sorted in full.
struct FullRanking {
  std::vector<int64_t> items;
  std::vector<float> similarities;
  std::vector<bool> positive;
};

FullRanking sort_gallery(const Scored& s, int64_t query) {
  const Tensor queries = s.queries.in_memory().to(torch::kDouble);
  const Tensor gallery =
      s.gallery.defined() ? s.gallery.in_memory().to(torch::kDouble) : queries;
  const Tensor& labels =
      s.gallery.defined() ? s.gallery_labels : s.query_labels;
  const Tensor similarity =
      torch::mv(gallery, queries[query]).to(torch::kFloat);
  const float* value = similarity.data_ptr<float>();
  int64_t self = s.gallery.defined() ? -1 : query;
  if (s.self.defined()) self = s.self[query].item<int64_t>();
  const auto q = static_cast<size_t>(query);
  std::vector<int64_t> order;
  for (int64_t j = 0; j < gallery.size(0); ++j) {
    if (j == self || (!s.lists.empty() && holds(s.lists.junk[q], j))) continue;
    order.push_back(j);
  }
  std::stable_sort(order.begin(), order.end(), [value](int64_t a, int64_t b) {
    return value[a] > value[b];
  });
  FullRanking ranking;
  for (int64_t j : order) {
    ranking.items.push_back(j);
    ranking.similarities.push_back(value[j]);
    ranking.positive.push_back(s.lists.empty()
                                   ? labels[j].item<int64_t>() ==
                                         s.query_labels[query].item<int64_t>()
                                   : holds(s.lists.positives[q], j));
  }
  return ranking;
}

void expect_query(const FullRanking& ranking, const QueryDiagnosis& found) {
  QueryDiagnosis wanted;
  wanted.nearest = ranking.items[0];
  wanted.nearest_similarity = ranking.similarities[0];
  double hits = 0;
  double sum = 0;
  for (size_t i = 0; i < ranking.items.size(); ++i) {
    const auto rank = static_cast<int64_t>(i) + 1;
    if (!ranking.positive[i]) {
      if (wanted.nearest_negative >= 0) continue;
      wanted.nearest_negative = ranking.items[i];
      wanted.nearest_negative_similarity = ranking.similarities[i];
      continue;
    }
    hits += 1;
    sum += hits / static_cast<double>(rank);
    if (hits == 1) wanted.nearest_positive_rank = rank;
    wanted.farthest_positive = ranking.items[i];
    wanted.farthest_positive_rank = rank;
    wanted.farthest_positive_similarity = ranking.similarities[i];
  }
  EXPECT_EQ(found.nearest, wanted.nearest);
  EXPECT_EQ(found.nearest_similarity, wanted.nearest_similarity);
  EXPECT_EQ(found.nearest_positive_rank, wanted.nearest_positive_rank);
  EXPECT_EQ(found.nearest_negative, wanted.nearest_negative);
  EXPECT_EQ(found.farthest_positive, wanted.farthest_positive);
  EXPECT_EQ(found.farthest_positive_rank, wanted.farthest_positive_rank);
  EXPECT_EQ(std::isnan(found.average_precision), hits == 0);
  if (wanted.nearest_negative >= 0) {
    EXPECT_EQ(found.nearest_negative_similarity,
              wanted.nearest_negative_similarity);
  }
  if (hits == 0) return;
  EXPECT_NEAR(found.average_precision, sum / hits, 1e-12);
  EXPECT_EQ(found.farthest_positive_similarity,
            wanted.farthest_positive_similarity);
}

/// Hubness of k = 10, from the definition.
void expect_hubness(const std::vector<FullRanking>& rankings, int64_t gallery,
                    const Hubness& found) {
  std::vector<double> counts(static_cast<size_t>(gallery));
  for (const FullRanking& ranking : rankings) {
    for (size_t i = 0; i < std::min<size_t>(10, ranking.items.size()); ++i) {
      counts[static_cast<size_t>(ranking.items[i])] += 1;
    }
  }
  const Tensor n = torch::tensor(counts, torch::kDouble);
  const Tensor d = n - n.mean();
  EXPECT_NEAR(found.skewness,
              (d.pow(3).mean() / d.pow(2).mean().pow(1.5)).item<double>(),
              1e-9);
  EXPECT_EQ(found.maximum, n.max().item<double>());
  EXPECT_EQ(found.never_found, (n == 0).sum().item<int64_t>());
  ASSERT_FALSE(found.largest.empty());
  for (size_t i = 0; i < found.largest.size(); ++i) {
    const Hub& hub = found.largest[i];
    EXPECT_EQ(counts[static_cast<size_t>(hub.item)],
              static_cast<double>(hub.count));
    if (i == 0) continue;
    const Hub& before = found.largest[i - 1];
    EXPECT_TRUE(before.count > hub.count ||
                (before.count == hub.count && before.item < hub.item));
  }
  EXPECT_EQ(found.largest[0].count, found.maximum);
}

/// Compares with a full sort of the gallery of every query.
void expect_diagnosis(const Scored& s, const Diagnostics& found) {
  ASSERT_EQ(std::ssize(found.queries), s.queries.count());
  std::vector<FullRanking> rankings;
  int64_t without = 0;
  for (int64_t q = 0; q < s.queries.count(); ++q) {
    SCOPED_TRACE("query " + std::to_string(q));
    rankings.push_back(sort_gallery(s, q));
    expect_query(rankings.back(), found.queries[static_cast<size_t>(q)]);
    const std::vector<bool>& positive = rankings.back().positive;
    without += std::none_of(positive.begin(), positive.end(),
                            [](bool value) { return value; });
  }
  EXPECT_EQ(found.without_positives, without);
  EXPECT_EQ(found.without_negative, 0);
  expect_hubness(rankings, found.gallery, found.hubness);
}

/// Rows with many ties and, every seventh, the row before once more.
Tensor tied_rows(int64_t count, uint64_t seed) {
  const Tensor rows = random_integers({count, 3}, 2, seed);
  for (int64_t i = 7; i < count; i += 7) rows[i].copy_(rows[i - 1]);
  return rows;
}

/// Classes of about five and, last, one of a single item.
Tensor some_labels(int64_t count, uint64_t seed) {
  Tensor labels = random_permutation(count, seed) % (count / 5) + 40;
  labels[count - 1] = 7;
  return labels;
}

TEST(Diagnostics, EqualAFullSortWithTies) {
  for (uint64_t seed : {1, 2, 3}) {
    const Scored s{tied_rows(90, seed), some_labels(90, seed), {}, {}, {}};
    const Diagnostics found = diagnose(s);
    expect_diagnosis(s, found);
    EXPECT_EQ(found.without_positives, 1);
    EXPECT_EQ(found.gallery, 90);
  }
}

TEST(Diagnostics, EqualAFullSortOfUnitRowsInSmallBlocks) {
  const Tensor rows = torch::nn::functional::normalize(
      random_normal({120, 512}, 4, at::kFloat));
  const Scored s{rows, some_labels(120, 4), {}, {}, {}};
  DiagnosticsOptions options;
  options.memory_mb = 1;  // about 30 queries at a time
  const Diagnostics found = diagnose(s, options);
  expect_diagnosis(s, found);
  EXPECT_EQ(diagnostics_json(found), diagnostics_json(diagnose(s)));
}

TEST(Diagnostics, EqualAFullSortOfQueriesAndGallery) {
  const Tensor gallery = tied_rows(80, 5);
  Tensor self = torch::full({30}, -1, torch::kLong);
  self.slice(0, 0, 12) = torch::arange(12, torch::kLong);
  const Tensor queries =
      torch::cat({gallery.slice(0, 0, 12), tied_rows(18, 6)});
  const Tensor labels = some_labels(80, 5);
  const Tensor query_labels =
      torch::cat({labels.slice(0, 0, 12), some_labels(18, 6)});
  const Scored s{queries, query_labels, gallery, labels, self};
  expect_diagnosis(s, diagnose(s));
}

TEST(Diagnostics, HonourListsOfRelevance) {
  Scored s{tied_rows(4, 7), {}, tied_rows(60, 8), {}, {}};
  s.lists.positives = {{3, 17, 5, 50}, {0, 1, 2}, {}, {59}};
  s.lists.junk = {{4, 6, 7, 8, 9, 10, 20, 30, 40}, {}, {1, 2}, {58, 57}};
  const Diagnostics found = diagnose(s);
  expect_diagnosis(s, found);
  EXPECT_TRUE(found.confused.empty());  // there are no labels
  EXPECT_FALSE(holds(found.hardest, 2));
  EXPECT_EQ(found.hardest.size(), 3U);
}

TEST(Diagnostics, ReadRowsOfAFile) {
  const TempDir folder;
  const std::string path = folder.file("rows.npy");
  save_npy(path, random_normal({50, 6}, 9, at::kFloat));
  const Tensor labels = some_labels(50, 9);
  const Scored file{unit_rows(path, 0, at::kCPU), labels, {}, {}, {}};
  const Scored memory{unit_rows(path, 64, at::kCPU), labels, {}, {}, {}};
  ASSERT_FALSE(file.queries.in_memory().defined());
  EXPECT_EQ(diagnostics_json(diagnose(file)),
            diagnostics_json(diagnose(memory)));
}

TEST(Diagnostics, OrderTheHardestQueries) {
  const Scored s{tied_rows(90, 11), some_labels(90, 11), {}, {}, {}};
  DiagnosticsOptions options;
  options.hardest = 1000;
  const Diagnostics all = diagnose(s, options);
  ASSERT_EQ(all.hardest.size(), 89U);
  for (size_t i = 1; i < all.hardest.size(); ++i) {
    const auto key = [&all](int64_t q) {
      const QueryDiagnosis& query = all.queries[static_cast<size_t>(q)];
      return std::make_tuple(query.average_precision,
                             -query.nearest_positive_rank, q);
    };
    EXPECT_LT(key(all.hardest[i - 1]), key(all.hardest[i]));
  }
  options.hardest = 5;
  EXPECT_EQ(diagnose(s, options).hardest,
            std::vector<int64_t>(all.hardest.begin(), all.hardest.begin() + 5));
}

/// Angles of unit vectors in degrees.
Tensor at_angles(const std::vector<double>& degrees) {
  const Tensor angle =
      torch::tensor(degrees, torch::kDouble) * (std::acos(-1.0) / 180);
  return torch::stack({angle.cos(), angle.sin()}, 1).to(torch::kFloat);
}

/// Classes 1 and 2 lie mixed, 3 apart, 4 has one item.
Scored confusing() {
  return {at_angles({0, 50, 2, 53, 100, 101, 10}),
          labels_of({1, 1, 2, 2, 3, 3, 4}),
          {},
          {},
          {}};
}

TEST(Diagnostics, CountConfusedClasses) {
  // Nearest: 0 -> 2, 50 -> 53, 2 -> 0, 53 -> 50.
  const Diagnostics found = diagnose(confusing());
  ASSERT_EQ(found.confused.size(), 2U);
  EXPECT_EQ(found.confused[0].from, 1);
  EXPECT_EQ(found.confused[0].to, 2);
  EXPECT_EQ(found.confused[0].count, 2);
  EXPECT_EQ(found.confused[0].share, 1);
  EXPECT_EQ(found.confused[0].reverse, 2);
  EXPECT_EQ(found.confused[1].from, 2);
  EXPECT_EQ(found.without_positives, 1);
  DiagnosticsOptions options;
  options.pairs = 1;
  EXPECT_EQ(diagnose(confusing(), options).confused.size(), 1U);
}

TEST(Diagnostics, ConfusedIsWhatListsSayIsWrong) {
  // As data sets with lists have them: every image is a class of its own.
  Scored s{at_angles({0, 50, 100}),
           labels_of({0, 1, 2}),
           at_angles({1, 60, 62, 110, 130}),
           labels_of({10, 11, 12, 13, 14}),
           {}};
  // Right: 1, which is nearest. Right: 62, behind 60. Right: 130, behind 110,
  // which is junk.
  s.lists.positives = {{0}, {2}, {4}};
  s.lists.junk = {{}, {}, {3}};
  const Diagnostics found = diagnose(s);
  ASSERT_EQ(found.confused.size(), 1U);
  EXPECT_EQ(found.confused[0].from, 1);
  EXPECT_EQ(found.confused[0].to, 11);
  EXPECT_EQ(found.confused[0].count, 1);
}

TEST(Diagnostics, SayWhenNoNegativeIsNear) {
  const Tensor gallery = at_angles([] {
    std::vector<double> angles(1103, 0.0);
    angles.back() = 90;
    return angles;
  }());
  Tensor labels = torch::zeros({1103}, torch::kLong);
  labels[1102] = 1;
  const Scored s{at_angles({0, 90}), labels_of({0, 1}), gallery, labels, {}};
  const Diagnostics found = diagnose(s);
  EXPECT_EQ(found.queries[0].nearest_negative, -1);
  EXPECT_EQ(found.queries[0].farthest_positive, 1101);
  EXPECT_EQ(found.queries[0].farthest_positive_rank, 1102);
  EXPECT_EQ(found.queries[0].average_precision, 1);
  EXPECT_EQ(found.queries[1].nearest_negative, 0);
  EXPECT_EQ(found.without_negative, 1);
}

}  // namespace
}  // namespace kith
