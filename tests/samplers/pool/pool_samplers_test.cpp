#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/samplers/pool/distance_matching.h"
#include "kith/samplers/pool/greedy_coreset.h"
#include "kith/samplers/pool/scores.h"
#include "kith/samplers/uniform.h"
#include "tests/samplers/plans.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"

namespace kith {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Tensor embed(const SamplerInput& input, int64_t dim = 8, uint64_t seed = 0) {
  torch::manual_seed(seed);
  return torch::nn::functional::normalize(
      torch::randn({static_cast<int64_t>(input.indices.size()), dim}));
}

EpochInput epoch_of(int64_t number, const Tensor& embeddings) {
  return {number, {embeddings.size(1), embeddings.data_ptr<float>()}};
}

std::unique_ptr<Sampler> make(const std::string& name,
                              const SamplerInput& input,
                              const std::string& options) {
  return make_sampler("{name: " + name + ", " + options + "}", input);
}

/// What every sampler with embeddings promises.
class PoolSamplers : public ::testing::TestWithParam<std::string> {};

TEST_P(PoolSamplers, MakeFullBatchesOfClassMatesWithoutRepeats) {
  const LogCapture log;
  const SamplerInput input = classes_of(std::vector<int64_t>(30, 40));
  const std::map<int64_t, int64_t> labels = labels_of(input);
  const Tensor embeddings = embed(input);
  for (const int64_t m : {1, 2, 4}) {
    const auto sampler =
        make(GetParam(), input,
             "batch: 16, pool: 64, per_class: " + std::to_string(m));
    const Batches batches = sampler->epoch(epoch_of(0, embeddings));
    EXPECT_EQ(batches.size(), 1200u / 16);
    for (const std::vector<int64_t>& batch : batches) {
      ASSERT_EQ(batch.size(), 16u);
      EXPECT_FALSE(has_repeats(batch));
      for (size_t i = 0; i < batch.size(); ++i) {
        const size_t first = i - i % static_cast<size_t>(m);
        EXPECT_EQ(labels.at(batch[i]), labels.at(batch[first]));
      }
    }
  }
  EXPECT_THAT(log.notes(), IsEmpty());
}

TEST_P(PoolSamplers, DependOnSeedEpochAndEmbeddingsAlone) {
  const std::vector<int64_t> sizes = {30, 20, 25, 40, 31};
  const std::string options = "batch: 8, pool: 32";
  const SamplerInput input = classes_of(sizes, 5);
  const Tensor embeddings = embed(input);
  const auto sampler = make(GetParam(), input, options);
  const Batches first = sampler->epoch(epoch_of(3, embeddings));
  EXPECT_EQ(sampler->epoch(epoch_of(3, embeddings)), first);
  EXPECT_EQ(make(GetParam(), input, options)->epoch(epoch_of(3, embeddings)),
            first);
  EXPECT_NE(sampler->epoch(epoch_of(4, embeddings)), first);
  EXPECT_NE(sampler->epoch(epoch_of(3, embed(input, 8, 1))), first);
  EXPECT_NE(make(GetParam(), classes_of(sizes, 6), options)
                ->epoch(epoch_of(3, embeddings)),
            first);
}

TEST_P(PoolSamplers, DoNotDependOnTheNumberOfThreads) {
  const SamplerInput input = classes_of(std::vector<int64_t>(20, 20));
  const Tensor embeddings = embed(input, 16);
  const auto sampler = make(GetParam(), input, "batch: 16, pool: 64");
  const int threads = torch::get_num_threads();
  torch::set_num_threads(1);
  const Batches alone = sampler->epoch(epoch_of(0, embeddings));
  torch::set_num_threads(3);
  const Batches shared = sampler->epoch(epoch_of(0, embeddings));
  torch::set_num_threads(threads);
  EXPECT_EQ(alone, shared);
}

TEST_P(PoolSamplers, AskForEmbeddings) {
  const SamplerInput input = classes_of({20, 20});
  EXPECT_TRUE(make(GetParam(), input, "batch: 4")->wants_pool());
  EXPECT_FALSE(make(GetParam(), input, "batch: 4")->rebuilds_pool());
  EXPECT_TRUE(
      make(GetParam(), input, "batch: 4, rebuild: true")->rebuilds_pool());
  expect_error<ConfigError>(
      [&] { make(GetParam(), input, "batch: 4")->epoch(0); }, "embeddings");
  Tensor embeddings = embed(input);
  embeddings[7][3] = std::numeric_limits<float>::quiet_NaN();
  expect_error<RunError>(
      [&] {
        make(GetParam(), input, "batch: 4")->epoch(epoch_of(0, embeddings));
      },
      "not all finite", "learning rate");
}

TEST_P(PoolSamplers, RepeatImagesOfSmallClassesAndSaySo) {
  const LogCapture log;
  const SamplerInput input = classes_of({1, 1, 1, 1, 4});
  const Batches batches = make(GetParam(), input, "batch: 4, pool: 8")
                              ->epoch(epoch_of(0, embed(input)));
  EXPECT_EQ(batches.size(), 2u);
  for (const auto& batch : batches) EXPECT_EQ(batch.size(), 4u);
  EXPECT_THAT(log.notes(), ElementsAre(HasSubstr("4 classes have fewer")));
}

TEST_P(PoolSamplers, ShrinkAPoolThatIsTooLarge) {
  const LogCapture log;
  const SamplerInput input = classes_of({20, 21});
  const Batches batches = make(GetParam(), input, "batch: 8, per_class: 4")
                              ->epoch(epoch_of(0, embed(input)));
  EXPECT_EQ(batches.size(), 5u);
  EXPECT_THAT(log.notes(), ElementsAre(AllOf(HasSubstr("pool is 512"),
                                             HasSubstr("only 41"))));
}

TEST_P(PoolSamplers, TakeEqualEmbeddings) {
  const SamplerInput input = classes_of({20, 20});
  const Batches batches = make(GetParam(), input, "batch: 8, pool: 16")
                              ->epoch(epoch_of(0, torch::zeros({40, 3})));
  EXPECT_EQ(batches.size(), 5u);
}

TEST_P(PoolSamplers, RefuseWhatCannotBe) {
  const SamplerInput input = classes_of({20, 20});
  expect_error<ConfigError>([&] { make(GetParam(), input, "batch: 42"); },
                            "sampler.batch", "42", "40 images");
  expect_error<ConfigError>(
      [&] { make(GetParam(), input, "batch: 10, per_class: 4"); },
      "sampler.batch", "multiple", "sampler.per_class");
  expect_error<ConfigError>(
      [&] { make(GetParam(), input, "batch: 20, pool: 10"); }, "sampler.pool",
      "10", "sampler.batch", "20");
}

TEST_P(PoolSamplers, HaveFacts) {
  const PartFacts& facts = sampler_registry().at(GetParam(), "").facts;
  EXPECT_STRNE(facts.formula, "");
  EXPECT_STRNE(facts.source, "");
  EXPECT_STRNE(facts.cost, "");
}

INSTANTIATE_TEST_SUITE_P(All, PoolSamplers,
                         ::testing::Values("greedy_coreset",
                                           "distance_matching", "frechet"),
                         [](const auto& test) { return test.param; });

/// The mean of the least distance of an image from the others of its batch.
double spread(const Batches& batches, const Tensor& embeddings) {
  double sum = 0;
  for (const std::vector<int64_t>& batch : batches) {
    const Tensor x = embeddings.index_select(0, torch::tensor(batch) - 1000);
    const Tensor distances = torch::cdist(x, x);
    distances.fill_diagonal_(10);
    sum += std::get<0>(distances.min(1)).mean().item<double>();
  }
  return sum / static_cast<double>(batches.size());
}

TEST(GreedyCoreset, SpreadsItsAnchors) {
  const SamplerInput input = classes_of(std::vector<int64_t>(20, 30));
  const Tensor embeddings = embed(input, 3);
  const double anchors = spread(
      GreedyCoresetSampler({.batch = 20, .per_class = 1, .pool = 300}, input)
          .epoch(epoch_of(0, embeddings)),
      embeddings);
  const double random =
      spread(UniformSampler({.batch = 20}, input).epoch(0), embeddings);
  EXPECT_GT(anchors, 1.5 * random);
}

// With all images in the pool and one batch an epoch, the choice is that of
// farthest points from wherever it starts.
TEST(GreedyCoreset, FindsTheCornersOfASquare) {
  SamplerInput input = classes_of({1, 1, 1, 1, 1, 1, 1});
  const Tensor embeddings = torch::tensor({0.F, 0.F, 1.F, 0.F, 0.F, 1.F, 1.F,
                                           1.F, .5F, .4F, .5F, .6F, .4F, .5F})
                                .view({7, 2});
  const GreedyCoresetSampler sampler({.batch = 5, .per_class = 1, .pool = 7},
                                     input);
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const Batches batches = sampler.epoch(epoch_of(epoch, embeddings));
    ASSERT_EQ(batches.size(), 1u);
    const std::set<int64_t> chosen(batches[0].begin(), batches[0].end());
    for (int64_t corner = 1000; corner < 1004; ++corner) {
      EXPECT_EQ(chosen.count(corner), 1u);
    }
  }
}

/// Scores at random, and keeps what it was asked of.
class RecordingSampler final : public MatchSampler {
 public:
  using MatchSampler::MatchSampler;
  mutable std::vector<std::vector<int64_t>> best;  ///< By call.

 private:
  Tensor score(const Tensor& pool, const Tensor& batches) const override {
    EXPECT_EQ(batches.size(0), 6);
    EXPECT_EQ(pool.size(0), 20);
    const Tensor scores = torch::rand({6});
    // An image's embedding is its number.
    const Tensor images = pool.flatten().index_select(
        0, batches[scores.argmin().item<int64_t>()]);
    const Tensor rows = images.to(torch::kLong);
    best.emplace_back(rows.data_ptr<int64_t>(),
                      rows.data_ptr<int64_t>() + rows.numel());
    return scores;
  }
};

TEST(MatchSampler, TakesTheCandidateOfLeastScore) {
  SamplerInput input = classes_of({20, 30});
  input.indices.clear();
  for (int64_t i = 0; i < 50; ++i) input.indices.push_back(i);
  const RecordingSampler sampler(
      {.pool = {.batch = 8, .pool = 20}, .candidates = 6}, input, "recording");
  const Tensor numbers = torch::arange(50, torch::kFloat).unsqueeze(1);
  const int threads = torch::get_num_threads();
  torch::set_num_threads(1);  // so that calls come in order
  const Batches batches = sampler.epoch(epoch_of(0, numbers));
  torch::set_num_threads(threads);
  EXPECT_EQ(batches.size(), 6u);
  EXPECT_EQ(batches, sampler.best);
}

TEST(DistanceMatching, HeedsItsOptions) {
  const SamplerInput input = classes_of(std::vector<int64_t>(20, 20));
  const Tensor embeddings = embed(input, 4);
  const PoolOptions pool = {.batch = 20, .pool = 100};
  const auto plan = [&](const DistanceMatchingSamplerOptions& options) {
    return DistanceMatchingSampler(options, input)
        .epoch(epoch_of(0, embeddings));
  };
  const Batches usual = plan({.match = {.pool = pool}});
  EXPECT_EQ(usual, plan({.match = {.pool = pool, .candidates = 10},
                         .bins = 50,
                         .weight = 75}));
  EXPECT_NE(usual, plan({.match = {.pool = pool}, .bins = 3}));
  EXPECT_NE(usual, plan({.match = {.pool = pool}, .weight = 0}));
}

/// The mean score of batches against all images.
double mean_score(const std::string& name, const Batches& batches,
                  const Tensor& embeddings) {
  const Tensor rows = torch::empty({static_cast<int64_t>(batches.size()),
                                    static_cast<int64_t>(batches[0].size())},
                                   torch::kLong);
  for (size_t b = 0; b < batches.size(); ++b) {
    rows[static_cast<int64_t>(b)].copy_(torch::tensor(batches[b]) - 1000);
  }
  return (name == "frechet" ? frechet_scores(embeddings, rows)
                            : distance_scores(embeddings, rows, 50, 75))
      .mean()
      .item<double>();
}

class MatchSamplers : public ::testing::TestWithParam<std::string> {};

TEST_P(MatchSamplers, TakeTheBestOfTheirCandidates) {
  const SamplerInput input = classes_of(std::vector<int64_t>(20, 20));
  const Tensor embeddings = embed(input, 4);
  const auto mean = [&](const std::string& candidates) {
    return mean_score(GetParam(),
                      make(GetParam(), input,
                           "batch: 20, pool: 400, candidates: " + candidates)
                          ->epoch(epoch_of(0, embeddings)),
                      embeddings);
  };
  const double one = mean("1");
  const double ten = mean("10");
  const double hundred = mean("100");
  EXPECT_LT(ten, 0.9 * one);
  EXPECT_LT(hundred, ten);
}

INSTANTIATE_TEST_SUITE_P(All, MatchSamplers,
                         ::testing::Values("distance_matching", "frechet"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace kith
