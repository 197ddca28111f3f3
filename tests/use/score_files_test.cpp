#include "kith/use/score_files.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/eval/metrics.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

class ScoreFiles : public ::testing::Test {
 protected:
  ScoreFiles() {
    torch::manual_seed(1);
    embeddings_ = torch::randn({24, 6});
    labels_ = torch::arange(24, torch::kLong).remainder(5);
    save_npy(file("x.npy"), embeddings_);
    save_npy(file("y.npy"), labels_);
    save_npy(file("flat.npy"), embeddings_.slice(1, 0, 4).contiguous());
  }

  std::string file(const std::string& name) const { return dir_.file(name); }

  TempDir dir_;
  Tensor embeddings_;
  Tensor labels_;
};

TEST_F(ScoreFiles, IsWhatTheMetricsGive) {
  const EvalReport report =
      score_files({.embeddings = file("x.npy"),
                   .labels = file("y.npy"),
                   .metrics = {"recall_any@1,2", "map_at_r"},
                   .scoring = {.bootstrap = 20, .seed = 3}},
                  at::kCPU);
  EXPECT_EQ(report.resamples, 20);
  EXPECT_EQ(report.seed, 3);
  ASSERT_EQ(report.result.metrics.size(), 3U);
  EXPECT_TRUE(report.result.metrics[0].interval.has_value());
  EXPECT_EQ(report.result.at("recall_any@2"),
            RecallAnyMetric({.k = 2})(embeddings_, labels_));
}

TEST_F(ScoreFiles, ScoresAgainAfterReranking) {
  const ScoreFilesOptions plain = {.embeddings = file("x.npy"),
                                   .labels = file("y.npy"),
                                   .metrics = {"recall_any@1,2", "nmi"}};
  ScoreFilesOptions options = plain;
  options.rerank = {"k_reciprocal:k1=4,k2=2"};
  const EvalReport report = score_files(options, at::kCPU);
  EXPECT_EQ(report.result.at("recall_any@1"),
            score_files(plain, at::kCPU).result.at("recall_any@1"));
  ASSERT_TRUE(report.reranked.has_value());
  // By the library alone; of embeddings together nothing changes.
  Scored scored;
  scored.queries = normalize_rows(embeddings_);
  scored.query_labels = labels_;
  EvaluateOptions scoring;
  scoring.rerank = parse_rerank(options.rerank, "test");
  EXPECT_EQ(report.reranked->at("recall_any@1"),
            evaluate(scored, parse_metrics({"recall_any@1"}), scoring)
                .at("recall_any@1"));
  ASSERT_EQ(report.reranked->metrics.size(), 2U);
  EXPECT_TRUE(report.reranked->metrics[0].interval.has_value());
  EXPECT_NE(report.reranked->protocol_line().find(
                "re-ranked by k_reciprocal:k1=4,k2=2,lambda=0.3"),
            std::string::npos);
  // With all of the original distance, the numbers of before.
  options.rerank = {"k_reciprocal:k1=4,k2=2,lambda=1"};
  EXPECT_EQ(score_files(options, at::kCPU).reranked->at("recall_any@2"),
            report.result.at("recall_any@2"));
}

TEST_F(ScoreFiles, SearchesInAGallery) {
  const EvalReport report = score_files({.embeddings = file("x.npy"),
                                         .labels = file("y.npy"),
                                         .gallery_embeddings = file("x.npy"),
                                         .gallery_labels = file("y.npy")},
                                        at::kCPU);
  // The usual metrics; each item finds itself.
  ASSERT_EQ(report.result.metrics.size(), 6U);
  EXPECT_EQ(report.result.at("recall_any@1"), 1);
}

TEST_F(ScoreFiles, ScoresSmallerVectors) {
  ScoreFilesOptions options{.embeddings = file("x.npy"),
                            .labels = file("y.npy"),
                            .metrics = {"recall_any@1", "map_at_r", "rho"},
                            .compress = {"dim:3", "binary"},
                            .learn_from = file("x.npy"),
                            .scoring = {.bootstrap = 0}};
  const EvalReport report = score_files(options, at::kCPU);
  ASSERT_EQ(report.compressed.size(), 3U);
  EXPECT_EQ(report.learnt_from, 24);
  EXPECT_EQ(report.compressed[0].form, "float32");
  EXPECT_EQ(report.compressed[0].result.at("map_at_r"),
            report.result.at("map_at_r"));
  EXPECT_EQ(report.compressed[1].bytes, 12);
  EXPECT_EQ(report.compressed[2].bytes, 1);
  save_npy(file("three.npy"), embeddings_.slice(1, 0, 3).contiguous());
  ScoreFilesOptions three = options;
  three.embeddings = file("three.npy");
  three.compress.clear();
  EXPECT_NEAR(report.compressed[1].result.at("map_at_r"),
              score_files(three, at::kCPU).result.at("map_at_r"), 1e-9);
  // A gallery of its own, in which queries find themselves.
  options.gallery_embeddings = file("x.npy");
  options.gallery_labels = file("y.npy");
  EXPECT_EQ(
      score_files(options, at::kCPU).compressed[1].result.at("recall_any@1"),
      1);
  options.learn_from.clear();
  expect_error<ConfigError>([&] { score_files(options, at::kCPU); },
                            "'learn_from' is needed");
  options.learn_from = file("flat.npy");
  expect_error<DataError>([&] { score_files(options, at::kCPU); },
                          "of size 4, those to score have 6");
}

TEST_F(ScoreFiles, RefusesWhatDoesNotGoTogether) {
  const auto refused = [&](const ScoreFilesOptions& options, const char* why) {
    expect_error<ConfigError>([&] { score_files(options, at::kCPU); }, why);
  };
  const std::string x = file("x.npy"), y = file("y.npy");
  refused({.embeddings = x}, "option 'labels' is needed");
  refused({.embeddings = x, .labels = y, .gallery_embeddings = x},
          "option 'gallery_labels'");
  refused({.embeddings = x, .ground_truth = y}, "option 'gallery_embeddings'");
  refused({.embeddings = x,
           .labels = y,
           .gallery_embeddings = x,
           .ground_truth = y},
          "instead of labels");
  expect_error<DataError>(
      [&] {
        score_files({.embeddings = x,
                     .labels = y,
                     .gallery_embeddings = file("flat.npy"),
                     .gallery_labels = y},
                    at::kCPU);
      },
      "flat.npy", "size 4, the queries have 6");
}

}  // namespace
}  // namespace kith
