// Miners made in C++ and from YAML: the same options, the same tuples.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/miners/batch_easy_hard.h"
#include "kith/miners/batch_hard.h"
#include "kith/miners/distance_weighted.h"
#include "kith/miners/multi_similarity.h"
#include "kith/miners/random.h"
#include "kith/miners/rho_distance.h"
#include "kith/miners/semihard.h"
#include "kith/miners/softhard.h"
#include "kith/miners/triplet_margin.h"
#include "tests/miners/miners.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/batches.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

struct TypedMiner {
  std::string yaml;
  std::shared_ptr<Miner> miner;
};

template <class Type>
TypedMiner typed_miner(const std::string& yaml,
                       typename Type::Options options = {}) {
  return {yaml, std::make_shared<Type>(std::move(options))};
}

std::vector<TypedMiner> typed_miners() {
  return {
      typed_miner<BatchEasyHardMiner>("{name: batch_easy_hard}"),
      typed_miner<BatchEasyHardMiner>(
          "{name: batch_easy_hard, positive: hard, negative: easy}",
          {.positive = "hard", .negative = "easy"}),
      typed_miner<BatchHardMiner>("{name: batch_hard}"),
      typed_miner<DistanceWeightedMiner>("{name: distance_weighted}"),
      typed_miner<DistanceWeightedMiner>(
          "{name: distance_weighted, cutoff: 0.3, upper_cutoff: 1.4}",
          {.cutoff = 0.3, .upper_cutoff = 1.4}),
      typed_miner<MultiSimilarityMiner>("{name: multi_similarity}"),
      typed_miner<MultiSimilarityMiner>(
          "{name: multi_similarity, epsilon: 0.3}", {.epsilon = 0.3}),
      typed_miner<RandomMiner>("{name: random}"),
      typed_miner<RhoDistanceMiner>("{name: rho_distance}"),
      typed_miner<RhoDistanceMiner>(
          "{name: rho_distance, p_switch: 0.5, cutoff: 0.2}",
          {.p_switch = 0.5, .weights = {.cutoff = 0.2}}),
      typed_miner<SemihardMiner>("{name: semihard}"),
      typed_miner<SemihardMiner>("{name: semihard, margin: 0}", {.margin = 0}),
      typed_miner<SofthardMiner>("{name: softhard}"),
      typed_miner<TripletMarginMiner>("{name: triplet_margin}"),
      typed_miner<TripletMarginMiner>(
          "{name: triplet_margin, kind: semihard, margin: 0.4}",
          {.kind = "semihard", .margin = 0.4}),
  };
}

TEST(TypedMiners, ChooseWhatThoseOfYamlChoose) {
  const LabelledBatch batch = make_batch({7, 5, 4, 3, 2, 2, 1}, 5, 3);
  for (const TypedMiner& typed : typed_miners()) {
    SCOPED_TRACE(typed.yaml);
    const auto other = make_miner(typed.yaml);
    EXPECT_EQ(typed.miner->width(), other->width());
    for (const uint64_t seed : {0, 1, 2}) {
      EXPECT_TRUE(torch::equal((*typed.miner)(batch.x, batch.labels, seed),
                               (*other)(batch.x, batch.labels, seed)));
    }
  }
}

TEST(TypedMiners, TheirOptionsHaveTheRangesOfYaml) {
  expect_error<ConfigError>([] { SemihardMiner({.margin = -1}); },
                            "semihard.margin");
  expect_error<ConfigError>([] { TripletMarginMiner({.kind = "both"}); },
                            "triplet_margin.kind", "semihard");
  expect_error<ConfigError>(
      [] { RhoDistanceMiner({.weights = {.cutoff = 3}}); },
      "rho_distance.cutoff");
}

TEST(TypedMiners, SayWhatIsWrongWithTheInput) {
  const BatchHardMiner miner;
  const Tensor x = torch::zeros({3, 2});
  expect_error<c10::ValueError>(
      [&] {
        miner(x[0], labels_of({1, 2}));
      },
      "embeddings must be", "[M, D]");
  expect_error<c10::ValueError>(
      [&] {
        miner(x.to(torch::kLong), labels_of({1, 1, 2}));
      },
      "embeddings must be float32 or float64");
  expect_error<c10::ValueError>(
      [&] {
        miner(x.to(torch::kHalf), labels_of({1, 1, 2}));
      },
      "embeddings must be float32 or float64");
  expect_error<c10::ValueError>(
      [&] {
        miner(x, labels_of({1, 2}));
      },
      "labels must be int64 [3]");
  expect_error<c10::ValueError>(
      [&] {
        miner(x, labels_of({1, 1, 2}).to(torch::kInt));
      },
      "labels must be int64 [3]");
}

}  // namespace
}  // namespace kith
