#include "kith/eval/pair_counts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

struct LabelledRows {
  Tensor rows;
  Tensor labels;
};

LabelledRows random_items(int64_t n, int64_t dim, uint64_t seed, bool ties) {
  return {ties ? random_integers({n, dim}, 1, seed)
               : normalize_rows(random_normal({n, dim}, seed, torch::kFloat)),
          random_integers({n}, 5, seed + 20).to(torch::kLong)};
}

ScoredSet among_themselves(const LabelledRows& items) {
  ScoredSet set;
  set.gallery = set.queries = items.rows;
  set.gallery_labels = set.query_labels = items.labels;
  set.self = torch::arange(items.rows.size(0), torch::kLong);
  return set;
}

/// Sorts the similarities of all pairs for which keep(query, item) holds.
double reference(const LabelledRows& queries, const LabelledRows& gallery,
                 double far,
                 const std::function<bool(int64_t, int64_t)>& keep) {
  const Tensor similarity = torch::mm(queries.rows.to(torch::kDouble),
                                      gallery.rows.to(torch::kDouble).t())
                                .to(torch::kFloat);
  const auto s = similarity.accessor<float, 2>();
  std::vector<float> positives;
  std::vector<float> negatives;
  for (int64_t q = 0; q < s.size(0); ++q) {
    for (int64_t g = 0; g < s.size(1); ++g) {
      if (!keep(q, g)) continue;
      const bool same = queries.labels[q].item<int64_t>() ==
                        gallery.labels[g].item<int64_t>();
      (same ? positives : negatives).push_back(s[q][g]);
    }
  }
  // The lowest of all similarities that is a threshold; none: above all.
  const auto share = [](const std::vector<float>& values, float t) {
    return static_cast<double>(std::count_if(values.begin(), values.end(),
                                             [t](float v) { return v >= t; })) /
           static_cast<double>(values.size());
  };
  double best = 0;
  std::vector<float> thresholds = positives;
  thresholds.insert(thresholds.end(), negatives.begin(), negatives.end());
  for (const float t : thresholds) {
    if (share(negatives, t) <= far) best = std::max(best, share(positives, t));
  }
  return best;
}

const std::vector<double> kRates = {0, 0.001, 0.01, 0.1, 0.29, 0.5, 1};

TEST(TrueAcceptanceRate, AmongThemselvesAgreesWithSortingPairs) {
  for (const bool ties : {false, true}) {
    const LabelledRows items = random_items(40, 4, 1, ties);
    const ScoredSet set = among_themselves(items);
    for (const double far : kRates) {
      EXPECT_DOUBLE_EQ(true_acceptance_rate(set, far),
                       reference(items, items, far,
                                 [](int64_t q, int64_t g) { return q < g; }))
          << far << " " << ties;
    }
  }
}

TEST(TrueAcceptanceRate, QueryAndGalleryAgreesWithSortingPairs) {
  for (const bool ties : {false, true}) {
    const LabelledRows queries = random_items(15, 4, 3, ties);
    const LabelledRows gallery = random_items(50, 4, 4, ties);
    ScoredSet set;
    set.gallery = gallery.rows;
    set.gallery_labels = gallery.labels;
    set.queries = queries.rows;
    set.query_labels = queries.labels;
    ScoredSet with_self = set;
    with_self.cache = std::make_shared<SetCache>();
    with_self.self = torch::full({15}, -1, torch::kLong);
    with_self.self[2] = 30;
    for (const double far : kRates) {
      EXPECT_DOUBLE_EQ(true_acceptance_rate(set, far),
                       reference(queries, gallery, far,
                                 [](int64_t, int64_t) { return true; }));
      EXPECT_DOUBLE_EQ(
          true_acceptance_rate(with_self, far),
          reference(queries, gallery, far,
                    [](int64_t q, int64_t g) { return q != 2 || g != 30; }));
    }
  }
}

TEST(TrueAcceptanceRate, IsTheSameInSmallBlocks) {
  const LabelledRows items = random_items(600, 64, 5, false);
  ScoredSet small = among_themselves(items);
  small.memory_mb = 1;
  const ScoredSet large = among_themselves(items);
  for (const double far : {0.001, 0.1}) {
    EXPECT_EQ(true_acceptance_rate(small, far),
              true_acceptance_rate(large, far));
  }
}

TEST(TrueAcceptanceRate, IsNanWithoutPositivesOrNegatives) {
  LabelledRows items = {torch::eye(3), labels_of({1, 2, 3})};
  EXPECT_TRUE(std::isnan(true_acceptance_rate(among_themselves(items), 0.1)));
  items.labels = labels_of({1, 1, 1});
  EXPECT_TRUE(std::isnan(true_acceptance_rate(among_themselves(items), 0.1)));
}

}  // namespace
}  // namespace kith
