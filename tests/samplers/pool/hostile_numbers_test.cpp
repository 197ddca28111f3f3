// Every sampler that chooses by embeddings, on numbers that break arithmetic:
// an error, or batches that are right. A new one is tested here without any
// change.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/ops/pairwise.h"
#include "kith/samplers/sampler.h"
#include "tests/samplers/plans.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/hostile_rows.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

SamplerInput images() { return classes_of({12, 9, 10, 8, 12, 13}, 5); }

std::unique_ptr<Sampler> make(const std::string& name) {
  return make_sampler("{name: " + name + ", batch: 8, per_class: 2}", images());
}

std::vector<std::string> samplers_with_a_pool() {
  std::vector<std::string> some;
  for (const std::string& name : sampler_registry().names()) {
    try {
      if (make(name)->wants_pool()) some.push_back(name);
    } catch (const ConfigError&) {  // has other options, and so no pool
    }
  }
  return some;
}

class HostilePool : public ::testing::TestWithParam<std::string> {
 protected:
  static Tensor rows() {
    return normalize_rows(random_normal({64, 6}, 1, at::kFloat));
  }
  Batches run(const Tensor& rows) const {
    const Tensor x = rows.contiguous();
    return sampler_->epoch(EpochInput(0, {x.size(1), x.data_ptr<float>()}));
  }

  std::unique_ptr<Sampler> sampler_ = make(GetParam());
};

TEST_P(HostilePool, RefusesWhatIsNotFinite) {
  for (const auto& [name, x] : rows_not_finite(rows())) {
    SCOPED_TRACE(name);
    expect_error<RunError>([&, &x = x] { run(x); }, "not all finite",
                           "learning rate");
  }
}

TEST_P(HostilePool, RefusesDistancesThatCannotBeCompared) {
  for (const auto& [name, x] : rows_finite(rows())) {
    if (name != "huge" && name != "tiny" && name != "a huge row") continue;
    SCOPED_TRACE(name);
    expect_error<RunError>([&, &x = x] { run(x); }, "cannot be compared",
                           "model.head.l2");
  }
}

TEST_P(HostilePool, TakesRowsThatAreEqualOrZero) {
  const std::map<int64_t, int64_t> labels = labels_of(images());
  for (const auto& [name, x] : rows_finite(rows())) {
    if (name == "huge" || name == "tiny" || name == "a huge row") continue;
    SCOPED_TRACE(name);
    const Batches batches = run(x);
    EXPECT_EQ(batches.size(), 8u);
    for (const std::vector<int64_t>& batch : batches) {
      ASSERT_EQ(batch.size(), 8u);
      for (size_t i = 0; i < batch.size(); i += 2) {
        EXPECT_EQ(labels.at(batch[i]), labels.at(batch[i + 1]));
      }
    }
  }
}

TEST_P(HostilePool, ChoosesTheSameAtAnyScaleOnceNormalised) {
  const Tensor x = random_normal({64, 6}, 1, at::kFloat);
  const Batches usual = run(normalize_rows(x));
  for (const double scale : {kHuge, kTiny}) {
    EXPECT_EQ(run(normalize_rows(x * scale)), usual) << scale;
  }
}

INSTANTIATE_TEST_SUITE_P(Samplers, HostilePool,
                         ::testing::ValuesIn(samplers_with_a_pool()),
                         [](const auto& param_info) {
                           return param_info.param;
                         });

}  // namespace
}  // namespace kith
