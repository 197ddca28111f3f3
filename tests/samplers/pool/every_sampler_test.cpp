// What holds of every sampler that is registered, on classes of very unequal
// sizes: an epoch goes over about as many images as there are, and what it
// leaves out or repeats is said.

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/tensor.h"
#include "kith/samplers/sampler.h"
#include "kith/train/epoch_use.h"
#include "tests/samplers/plans.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kBatch = 40;

std::vector<int64_t> with(std::vector<int64_t> sizes, int64_t one_more) {
  sizes.push_back(one_more);
  return sizes;
}

std::vector<int64_t> rising(int64_t first, int64_t last) {
  std::vector<int64_t> sizes;
  for (int64_t size = first; size <= last; ++size) sizes.push_back(size);
  return sizes;
}

const std::map<std::string, std::vector<int64_t>>& unequal_sizes() {
  static const std::map<std::string, std::vector<int64_t>> all = {
      {"one class of 4", with(std::vector<int64_t>(19, 60), 4)},
      {"one class of 1", with(std::vector<int64_t>(19, 60), 1)},
      {"as many classes as a batch takes",
       with(std::vector<int64_t>(9, 60), 4)},
      {"one class of 900", with(std::vector<int64_t>(30, 20), 900)},
      {"2 to 100", rising(2, 100)}};
  return all;
}

SamplerInput input_of(const std::vector<int64_t>& sizes) {
  SamplerInput input = classes_of(sizes, 1);
  for (const int64_t label : input.labels) {
    input.categories.push_back(label % 20 == 0 ? "even" : "odd");
  }
  return input;
}

class EverySampler : public ::testing::TestWithParam<std::string> {
 protected:
  static std::string name() { return GetParam(); }

  static Batches first_epoch(const SamplerInput& input) {
    const auto sampler = make_sampler(
        "{name: " + name() + ", batch: " + std::to_string(kBatch) + "}", input);
    torch::manual_seed(0);
    const Tensor embeddings = torch::nn::functional::normalize(
        torch::randn({static_cast<int64_t>(input.indices.size()), 4}));
    return sampler->epoch({0, {4, embeddings.data_ptr<float>()}});
  }
};

TEST_P(EverySampler, GoesOverAllImagesOfUnequalClasses) {
  for (const auto& [words, sizes] : unequal_sizes()) {
    SCOPED_TRACE(words);
    const SamplerInput input = input_of(sizes);
    const Batches batches = first_epoch(input);
    for (const auto& batch : batches) EXPECT_EQ(batch.size(), size_t{kBatch});
    // An epoch of category_hard is a number of batches for each pair.
    if (name() == "category_hard") continue;
    const size_t images = batches.size() * size_t{kBatch};
    EXPECT_GT(images + kBatch, 0.95 * static_cast<double>(input.indices.size()))
        << batches.size() << " batches";
    EXPECT_LT(images, 2.1 * static_cast<double>(input.indices.size()));
  }
}

TEST_P(EverySampler, UsesEveryImageBeforeOneRepeatsWhereItSaysSo) {
  for (const auto& [words, sizes] : unequal_sizes()) {
    SCOPED_TRACE(words);
    const SamplerInput input = input_of(sizes);
    const Batches batches = first_epoch(input);
    const EpochUse use = epoch_use(batches, input);
    const int64_t left_out = use.images - use.used;
    if (name() == "uniform" || name() == "whole_classes") {
      EXPECT_EQ(use.repeated, 0);
      EXPECT_LT(left_out, kBatch);
    }
    if (name() == "class_balanced" && use.repeated > 0 &&
        words != "one class of 900") {
      int64_t unusable = 0;
      for (const int64_t size : sizes) unusable += size < 4 ? size : 0;
      EXPECT_EQ(left_out, unusable);
    }
  }
}

TEST_P(EverySampler, CountsWhatIsLeftOutAndRepeated) {
  for (const auto& [words, sizes] : unequal_sizes()) {
    SCOPED_TRACE(words);
    const SamplerInput input = input_of(sizes);
    const Batches batches = first_epoch(input);
    const EpochUse use = epoch_use(batches, input);
    const std::map<int64_t, int64_t> labels = labels_of(input);
    std::set<int64_t> classes;
    int64_t repeated = 0, most = 0;
    for (const auto& [image, count] : count_images(batches)) {
      classes.insert(labels.at(image));
      repeated += count > 1 ? 1 : 0;
      most = std::max(most, count);
    }
    EXPECT_EQ(use.batches, static_cast<int64_t>(batches.size()));
    EXPECT_EQ(use.images, static_cast<int64_t>(input.indices.size()));
    EXPECT_EQ(use.used, static_cast<int64_t>(count_images(batches).size()));
    EXPECT_EQ(use.repeated, repeated);
    EXPECT_EQ(use.most, most);
    EXPECT_EQ(use.absent, static_cast<int64_t>(sizes.size() - classes.size()));
    const std::string line = describe_use(use);
    EXPECT_EQ(line.empty(), use.used == use.images && repeated == 0);
    if (line.empty()) continue;
    EXPECT_THAT(line, HasSubstr(std::to_string(use.used) + " of " +
                                std::to_string(use.images)));
    if (use.used < use.images) {
      EXPECT_THAT(line, HasSubstr("; " + std::to_string(use.images - use.used) +
                                  " are left out"));
    }
    if (repeated > 0) {
      EXPECT_THAT(line, HasSubstr(std::to_string(repeated) +
                                  " come more than once, up to " +
                                  std::to_string(most) + " times"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EverySampler,
                         ::testing::ValuesIn(sampler_registry().names()),
                         [](const auto& test) { return test.param; });

TEST(EpochUse, SaysNothingWhenEveryImageComesOnce) {
  const SamplerInput input = classes_of({2, 2});
  EXPECT_EQ(describe_use(epoch_use({{1000, 1001}, {1002, 1003}}, input)), "");
  EXPECT_EQ(describe_use(epoch_use({{1000, 1002}, {1000, 1002}}, input)),
            "the first epoch has 2 of 4 training images in 2 batches; 2 are "
            "left out, with all images of 1 of 2 classes; 2 come more than "
            "once, up to 2 times");
}

}  // namespace
}  // namespace kith
