// Smaller vectors: each step by its definition, and what a split then scores.

#include "kith/eval/compression.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/distributed/communicator.h"
#include "kith/eval/compressions.h"
#include "kith/eval/embedded_split.h"
#include "kith/eval/metrics.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/rank_threads.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

Tensor some_units(int64_t n, int64_t d, uint64_t seed) {
  return normalize_rows(random_normal({n, d}, seed, at::kFloat));
}

CompressedForm learnt_form(const std::string& text, const Tensor& rows) {
  CompressedForm form(text);
  form.learn(rows, 5, alone());
  return form;
}

TEST(CompressionTest, FirstNumbersAreMadeUnit) {
  const Tensor x = some_units(9, 6, 1);
  const CompressedForm form("dim:2");
  const Tensor first = x.slice(1, 0, 2).to(torch::kDouble);
  const Tensor expected = first / first.square().sum(1, true).sqrt();
  EXPECT_LE(max_difference(form.queries(x), expected), 1e-6);
  EXPECT_TRUE(same_bits(form.items(x), form.queries(x)));
  EXPECT_FALSE(form.learns());
  EXPECT_EQ(form.bytes(6), 8);
}

/// With all directions, inner products of centred vectors stay; with fewer,
/// those are kept along which training vectors vary most.
TEST(CompressionTest, PcaKeepsWhatVaries) {
  const Tensor wide = torch::tensor({3.0, 0.1, 2.0, 0.05, 1.0, 0.02});
  const Tensor train = random_normal({400, 6}, 1) * wide + 0.3;
  const Tensor x = (random_normal({9, 6}, 2) * wide).to(torch::kFloat);
  const Tensor mean = train.to(torch::kFloat).to(torch::kDouble).mean(0);
  const auto products = [](const Tensor& rows) {
    const Tensor unit = normalize_rows(rows.to(torch::kDouble));
    return torch::mm(unit, unit.t());
  };
  const Tensor rows = train.to(torch::kFloat);
  EXPECT_LE(max_difference(products(learnt_form("pca:6", rows).items(x)),
                           products(x.to(torch::kDouble) - mean)),
            1e-5);
  const Tensor three = learnt_form("pca:3", rows).items(x);
  EXPECT_EQ(three.size(1), 3);
  const Tensor kept =
      (x.to(torch::kDouble) - mean).index_select(1, torch::tensor({0, 2, 4}));
  EXPECT_LE(max_difference(products(three), products(kept)), 0.05);
  EXPECT_EQ(CompressedForm("pca:3").bytes(6), 12);
  expect_error<DataError>([&] { learnt_form("pca:6", rows.slice(0, 0, 4)); },
                          "vary in 3 directions only");
}

TEST(CompressionTest, BitsAreSidesOfTheMedian) {
  const Tensor train = some_units(31, 10, 1);
  const Tensor x = some_units(7, 10, 2);
  const CompressedForm form = learnt_form("binary", train);
  EXPECT_EQ(form.bytes(10), 2);
  const Tensor bits = form.items(x);
  const Tensor similarity = torch::mm(form.queries(x), bits.t());
  for (int64_t j = 0; j < 10; ++j) {
    const Tensor sorted = std::get<0>(train.select(1, j).sort());
    const float median = sorted[15].item<float>();
    for (int64_t i = 0; i < 7; ++i) {
      EXPECT_EQ(bits[i][j].item<float>() > 0, x[i][j].item<float>() > median);
    }
  }
  for (int64_t a = 0; a < 7; ++a) {
    for (int64_t b = 0; b < 7; ++b) {
      const auto hamming = (bits[a] != bits[b]).sum().item<double>();
      EXPECT_NEAR(similarity[a][b].item<double>(), 1 - 2 * hamming / 10, 1e-6);
    }
  }
}

/// Every piece becomes the nearest of the centres, by a double loop; and of
/// vectors that are as few as the centres each is its own.
TEST(CompressionTest, PiecesBecomeTheNearestCentre) {
  const Tensor train = some_units(200, 6, 1);
  const CompressedForm form = learnt_form("pq:3:3", train);
  EXPECT_EQ(form.bytes(6), 2);
  const Tensor x = some_units(40, 6, 2);
  const Tensor of_train = form.items(train);
  const Tensor of_x = form.items(x);
  EXPECT_TRUE(same_bits(form.queries(x), x));
  for (int64_t piece = 0; piece < 3; ++piece) {
    // Of 200 pieces each centre has some.
    const auto part = [&](const Tensor& rows) {
      return rows.slice(1, 2 * piece, 2 * piece + 2).to(torch::kDouble);
    };
    const Tensor centres = std::get<0>(at::unique_dim(part(of_train), 0));
    ASSERT_EQ(centres.size(0), 8);
    const Tensor far = torch::cdist(part(x), centres);
    EXPECT_LE(max_difference((part(x) - part(of_x)).norm(2, 1),
                             std::get<0>(far.min(1))),
              1e-6);
  }
  const Tensor few = some_units(8, 6, 3);
  EXPECT_LE(max_difference(learnt_form("pq:3:3", few).items(few), few), 1e-6);
  EXPECT_TRUE(same_bits(learnt_form("pq:3:3", train).items(x), of_x));
  expect_error<DataError>([&] { learnt_form("pq:3", train); },
                          "200 training vectors", "256 centres");
}

TEST(CompressionTest, StepsFollowEachOther) {
  const Tensor train = some_units(300, 12, 1);
  const Tensor x = some_units(9, 12, 2);
  const CompressedForm both = learnt_form("pca:4+int8", train);
  EXPECT_EQ(both.bytes(12), 4);
  const CompressedForm pca = learnt_form("pca:4", train);
  const CompressedForm int8 = learnt_form("int8", pca.queries(train));
  EXPECT_TRUE(same_bits(both.items(x), int8.items(pca.items(x))));
  EXPECT_TRUE(same_bits(both.queries(x), pca.queries(x)));
  EXPECT_EQ(CompressedForm("dim:8+pca:4+float16").bytes(12), 8);
  EXPECT_EQ(CompressedForm("float16").bytes(12), 24);
}

TEST(CompressionTest, RefusesWhatMeansNothing) {
  const auto refused = [](const std::string& text, const std::string& why) {
    expect_error<ConfigError>([&] { CompressedForm(text).bytes(12); }, why);
  };
  refused("", "compression");
  refused("int", "int8");
  refused("int8+dim:4", "a step behind a code");
  refused("pq:4:8:1", "takes 2");
  refused("int8:4", "takes 0");
  refused("dim:x", "numbers");
  refused("dim:0", "must be in [1, ");
  refused("dim:13", "of vectors of 12 numbers");
  refused("dim:8+pca:9", "of vectors of 8 numbers");
  refused("pq:5", "does not divide");
  refused("pq:4:40", "bits");
}

/// A split whose images are all searched among each other.
EmbeddedSplit one_task(const Tensor& x, const std::vector<int64_t>& labels) {
  EmbeddedSplit split;
  split.embeddings = x;
  split.labels = labels;
  split.rows_of.resize(labels.size());
  std::iota(split.rows_of.begin(), split.rows_of.end(), 0);
  EvalTask task;
  task.queries = task.gallery = split.rows_of;
  split.tasks.push_back(task);
  return split;
}

/// Recall@1 and MAP@R of queries among items by a double loop.
std::pair<double, double> by_double_loop(const Tensor& queries,
                                         const Tensor& items,
                                         const std::vector<int64_t>& labels) {
  const auto n = static_cast<size_t>(queries.size(0));
  double recall = 0;
  double map_at_r = 0;
  for (size_t q = 0; q < n; ++q) {
    std::vector<std::pair<float, size_t>> ranking;
    size_t positives = 0;
    for (size_t i = 0; i < n; ++i) {
      if (i == q) continue;
      positives += labels[i] == labels[q];
      double sum = 0;
      for (int64_t j = 0; j < queries.size(1); ++j) {
        sum += queries[static_cast<int64_t>(q)][j].item<double>() *
               items[static_cast<int64_t>(i)][j].item<double>();
      }
      ranking.emplace_back(-static_cast<float>(sum), i);
    }
    std::sort(ranking.begin(), ranking.end());
    recall += labels[ranking[0].second] == labels[q];
    double hits = 0;
    double precisions = 0;
    for (size_t k = 0; k < positives; ++k) {
      if (labels[ranking[k].second] != labels[q]) continue;
      hits += 1;
      precisions += hits / static_cast<double>(k + 1);
    }
    map_at_r += precisions / static_cast<double>(positives);
  }
  return {recall / static_cast<double>(n), map_at_r / static_cast<double>(n)};
}

TEST(CompressionTest, SplitsScoreWhatADoubleLoopSays) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 60; ++i) labels.push_back(i % 12);
  const Tensor centres = random_normal({12, 16}, 3, at::kFloat);
  const Tensor x = normalize_rows(centres.repeat({5, 1}) +
                                  0.9 * random_normal({60, 16}, 4, at::kFloat));
  const Tensor train = some_units(300, 16, 5);
  const EmbeddedSplit split = one_task(x, labels);
  const auto metrics = parse_metrics({"recall_any@1", "map_at_r"});
  for (const std::string text : {"float16", "int8", "binary", "pq:4:4", "dim:4",
                                 "pca:8+int8", "dim:8+binary"}) {
    SCOPED_TRACE(text);
    const CompressedForm form = learnt_form(text, train);
    const EvalResult found = evaluate_split(form.apply(split), metrics);
    const auto [recall, map_at_r] =
        by_double_loop(form.queries(x), form.items(x), labels);
    EXPECT_NEAR(found.at("recall_any@1"), recall, 1e-12);
    EXPECT_NEAR(found.at("map_at_r"), map_at_r, 1e-12);
  }
  // Of ranks that share the embeddings each has its own rows.
  const CompressedForm form = learnt_form("pca:8+int8", train);
  const EvalResult alone_found = evaluate_split(form.apply(split), metrics);
  for (const std::string& error : errors_of_ranks(3, [&](Communicator& ranks) {
         EmbeddedSplit shared = split;
         shared.first = 20 * ranks.rank();
         shared.embeddings = x.slice(0, shared.first, shared.first + 20);
         shared.sharing = &ranks;
         EvaluateOptions together;
         together.ranks = &ranks;
         const EvalResult found =
             evaluate_split(form.apply(shared), metrics, together);
         EXPECT_EQ(found.at("map_at_r"), alone_found.at("map_at_r"));
       })) {
    EXPECT_EQ(error, "");
  }
  const EvalResult whole = evaluate_split(split, metrics);
  for (const std::string text : {"float16", "int8"}) {
    const EvalResult near =
        evaluate_split(learnt_form(text, x).apply(split), metrics);
    EXPECT_NEAR(near.at("map_at_r"), whole.at("map_at_r"), 0.01);
  }
}

}  // namespace
}  // namespace kith
