// Samplers made in C++ and from YAML: the same options, the same batches.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/samplers/category_hard.h"
#include "kith/samplers/class_balanced.h"
#include "kith/samplers/pool/distance_matching.h"
#include "kith/samplers/pool/frechet.h"
#include "kith/samplers/pool/greedy_coreset.h"
#include "kith/samplers/spc.h"
#include "kith/samplers/spc_random.h"
#include "kith/samplers/uniform.h"
#include "kith/samplers/whole_classes.h"
#include "tests/samplers/plans.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

struct TypedSampler {
  std::string yaml;
  std::function<std::unique_ptr<Sampler>(const SamplerInput&)> make;
};

template <class Type>
TypedSampler typed_sampler(const std::string& yaml,
                           typename Type::Options options) {
  return {yaml, [options](const SamplerInput& input) {
            return std::make_unique<Type>(options, input);
          }};
}

std::vector<TypedSampler> typed_samplers() {
  return {
      typed_sampler<CategoryHardSampler>(
          "{name: category_hard, batch: 8, batches_per_pair: 2}",
          {.batch = 8, .batches_per_pair = 2}),
      typed_sampler<ClassBalancedSampler>(
          "{name: class_balanced, batch: 9, per_class: 3}",
          {.batch = 9, .per_class = 3}),
      typed_sampler<DistanceMatchingSampler>(
          "{name: distance_matching, batch: 8, pool: 24, candidates: 5, "
          "bins: 9, weight: 3}",
          {.match = {.pool = {.batch = 8, .pool = 24}, .candidates = 5},
           .bins = 9,
           .weight = 3}),
      typed_sampler<FrechetSampler>(
          "{name: frechet, batch: 8, pool: 24, candidates: 5}",
          {.pool = {.batch = 8, .pool = 24}, .candidates = 5}),
      typed_sampler<GreedyCoresetSampler>(
          "{name: greedy_coreset, batch: 8, per_class: 4, pool: 24}",
          {.batch = 8, .per_class = 4, .pool = 24}),
      typed_sampler<SpcSampler>("{name: spc, batch: 9, per_class: 3}",
                                {.batch = 9, .per_class = 3}),
      typed_sampler<SpcRandomSampler>("{name: spc_random, batch: 7}",
                                      {.batch = 7}),
      typed_sampler<UniformSampler>(
          "{name: uniform, batch: 10, drop_last: false}",
          {.batch = 10, .drop_last = false}),
      typed_sampler<WholeClassesSampler>("{name: whole_classes, batch: 11}",
                                         {.batch = 11}),
  };
}

TEST(TypedSamplers, PlanWhatThoseOfYamlPlan) {
  SamplerInput input = classes_of({12, 9, 10, 8, 12, 13}, 5);
  for (const int64_t label : input.labels) {
    input.categories.push_back(label < 30 ? "fan" : "mug");
  }
  torch::manual_seed(1);
  const Tensor pool =
      torch::randn({static_cast<int64_t>(input.indices.size()), 6});
  for (const TypedSampler& typed : typed_samplers()) {
    SCOPED_TRACE(typed.yaml);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      const EpochInput at(epoch, {6, pool.data_ptr<float>()});
      EXPECT_EQ(typed.make(input)->epoch(at),
                make_sampler(typed.yaml, input)->epoch(at));
    }
  }
}

TEST(TypedSamplers, CheckTheirOptionsAndTheImages) {
  SamplerInput input = classes_of({20, 20});
  expect_error<ConfigError>([&] { SpcSampler({.batch = 0}, input); },
                            "spc.batch");
  expect_error<ConfigError>([&] { FrechetSampler({.candidates = 0}, input); },
                            "frechet.candidates");
  expect_error<ConfigError>(
      [&] { FrechetSampler({.pool = {.batch = 20, .pool = 10}}, input); },
      "'frechet.pool' (10)", "'frechet.batch' (20)");
  input.labels.pop_back();
  expect_error<ConfigError>([&] { ClassBalancedSampler({.batch = 8}, input); },
                            "40 images", "39 labels");
}

}  // namespace
}  // namespace kith
