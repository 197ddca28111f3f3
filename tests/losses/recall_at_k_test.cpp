#include "kith/losses/recall_at_k.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

double sigmoid(double u) { return 1 / (1 + std::exp(-u)); }

/// The formula as it is written, one loop for each sum.
double reference(const Tensor& embeddings, const Tensor& labels,
                 const RecallAtKOptions& p) {
  const Tensor s = torch::mm(embeddings, embeddings.t());
  const auto similarity = s.accessor<double, 2>();
  const auto label = labels.accessor<int64_t, 1>();
  const int64_t count = labels.size(0);
  double total = 0;
  int64_t queries = 0;
  for (int64_t q = 0; q < count; ++q) {
    std::vector<double> ranks;
    for (int64_t x = 0; x < count; ++x) {
      if (x == q || label[x] != label[q]) continue;
      double rank = 1;
      for (int64_t z = 0; z < count; ++z) {
        if (z == x || (z == q && !p.query_in_database)) continue;
        rank += sigmoid((similarity[q][z] - similarity[q][x]) / p.t2);
      }
      ranks.push_back(rank);
    }
    if (ranks.empty()) continue;
    ++queries;
    for (int64_t k : p.k) {
      double recall = 0;
      for (double rank : ranks) {
        recall += sigmoid((static_cast<double>(k) - rank) / p.t1);
      }
      const auto most = static_cast<double>(k);
      recall = std::min(recall, most) /
               std::min(most, static_cast<double>(ranks.size()));
      total += 1 - recall;
    }
  }
  return queries == 0 ? 0
                      : total / static_cast<double>(queries) /
                            static_cast<double>(p.k.size());
}

double loss_value(const RecallAtKOptions& p, const Tensor& x,
                  const Tensor& labels) {
  return RecallAtK(p)(x, labels).value.item<double>();
}

TEST(RecallAtKLoss, AgreesWithTheWrittenFormula) {
  const Tensor labels = labels_of({4, 1, 4, 2, 1, 4, 3, 4, 2, 1, 4, 4, 5, 2});
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const Tensor x = normalize_rows(random_normal({14, 5}, seed));
    for (const bool in_database : {false, true}) {
      for (const RecallAtKOptions& p :
           {RecallAtKOptions{{1, 2, 4, 8, 16}, 1, 0.01, in_database},
            RecallAtKOptions{{3}, 0.5, 0.1, in_database},
            // A wide t1 makes far positives count: the clip is at work.
            RecallAtKOptions{{1, 2}, 20, 0.3, in_database}}) {
        EXPECT_NEAR(loss_value(p, x, labels), reference(x, labels, p), 1e-13)
            << "t1 " << p.t1 << " seed " << seed;
      }
    }
  }
}

// Two classes of two on two axes. Their own partner is the nearest: rank 1, so
// R_1 = sigma(0) and R_2 = sigma(1).
TEST(RecallAtKLoss, PerfectRetrieval) {
  const Tensor x =
      torch::tensor({1., 0., 1., 0., 0., 1., 0., 1.}, torch::kDouble)
          .view({4, 2});
  const Tensor labels = labels_of({0, 0, 1, 1});
  EXPECT_NEAR(loss_value({{1}}, x, labels), 0.5, 1e-12);
  EXPECT_NEAR(loss_value({{2}}, x, labels), 1 - sigmoid(1), 1e-12);
  EXPECT_NEAR(loss_value({{1, 2}}, x, labels), (1.5 - sigmoid(1)) / 2, 1e-12);
  // The query ties with its partner, which costs half a rank.
  EXPECT_NEAR(loss_value({{1}, 1, 0.01, true}, x, labels), 1 - sigmoid(-0.5),
              1e-12);
}

// The same points, but classmates lie on different axes: one negative is
// nearer than the positive and the other ties with it, so the rank is 2.5.
TEST(RecallAtKLoss, WorstRetrieval) {
  const Tensor x =
      torch::tensor({1., 0., 0., 1., 1., 0., 0., 1.}, torch::kDouble)
          .view({4, 2});
  const Tensor labels = labels_of({0, 0, 1, 1});
  EXPECT_NEAR(loss_value({{1}}, x, labels), 1 - sigmoid(-1.5), 1e-12);
  EXPECT_NEAR(loss_value({{1}, 0.5}, x, labels), 1 - sigmoid(-3), 1e-12);
  EXPECT_NEAR(loss_value({{1}, 1, 0.01, true}, x, labels), 1 - sigmoid(-2.5),
              1e-12);
}

// Ten equal items: each of nine positives has rank 1 + 8/2 = 5, and at k = 8
// the nine sigmoids add up to 8.57, more than the recall can be.
TEST(RecallAtKLoss, ClippedRecallIsOneAndHasNoGradient) {
  const Tensor x = torch::tensor({1., 0.}, torch::kDouble).repeat({10, 1});
  const Tensor labels = torch::zeros({10}, torch::kLong);
  const LossGradient clipped =
      differentiate(RecallAtK({.k = {8}}), {x, labels, {}});
  EXPECT_NEAR(clipped.value, 0, 1e-12);
  EXPECT_EQ(clipped.gradient.abs().max().item<double>(), 0);
  EXPECT_NEAR(loss_value({{7}}, x, labels),
              std::max(0., 1 - 9 * sigmoid(2) / 7), 1e-12);
  EXPECT_NEAR(loss_value({{4}}, x, labels), 1 - 9 * sigmoid(-1) / 4, 1e-12);
}

TEST(RecallAtKLoss, CountsQueriesWithoutPositives) {
  const Tensor x = normalize_rows(random_normal({5, 3}, 1));
  const LossOutput output = RecallAtK()(x, labels_of({1, 2, 1, 3, 1}));
  const std::vector<std::pair<std::string, double>> expected = {
      {"queries", 3}, {"queries_without_positives", 2}};
  EXPECT_EQ(output.stats, expected);
}

TEST(RecallAtKLoss, AverageOverMoreKWithVirtualExamples) {
  const Tensor x = normalize_rows(random_normal({9, 3}, 1));
  const Tensor labels = labels_of({1, 2, 1, 3, 1, 2, 3, 3, 3});
  EXPECT_EQ(loss_value({}, x, labels),
            loss_value({.k = {1, 2, 4, 8, 16}}, x, labels));
  EXPECT_EQ(loss_value({.rows = {.simix = true}}, x, labels),
            loss_value({.k = {1, 2, 4, 8, 12, 16, 20, 24, 28, 32},
                        .rows = {.simix = true}},
                       x, labels));
}

TEST(RecallAtKLoss, RefusesBadOptions) {
  const auto refused = [](const std::string& options, const auto&... parts) {
    expect_error<ConfigError>(
        [&] { make_loss("{name: recall_at_k, " + options + "}"); }, parts...);
  };
  refused("k: [1, 0]", "loss.k", "at least 1");
  std::string many = "1";
  for (int k = 2; k <= 65; ++k) many += ", " + std::to_string(k);
  refused("k: [" + many + "]", "loss.k", "65 entries", "at most 64");
  refused("t1: 0", "loss.t1", "greater than 0");
  refused("t2: -1", "loss.t2", "greater than 0");
  refused("query_in_databse: true", "query_in_database");
}

}  // namespace
}  // namespace kith
