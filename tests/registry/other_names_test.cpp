#include "kith/core/other_names.h"

#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/unknown_name.h"
#include "kith/data/augment.h"
#include "kith/data/data_set.h"
#include "kith/eval/metric.h"
#include "kith/index/reranker.h"
#include "kith/index/vector_index.h"
#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/models/backbone.h"
#include "kith/samplers/sampler.h"
#include "kith/study/config_keys.h"
#include "kith/train/optimizer.h"
#include "kith/train/schedule.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

std::map<std::string, std::vector<std::string>> registered_names() {
  std::map<std::string, std::vector<std::string>> names;
  const auto add = [&](const auto& registry) {
    names[registry.kind()] = registry.names();
  };
  add(loss_registry());
  add(miner_registry());
  add(sampler_registry());
  add(backbone_registry());
  add(data_set_registry());
  add(augmentation_registry());
  add(optimizer_registry());
  add(schedule_registry());
  add(metric_registry());
  add(vector_index_registry());
  add(reranker_registry());
  return names;
}

bool is_key(const std::string& key) {
  for (const ConfigSection& section : configuration_sections()) {
    for (const OptionInfo& option : section.options) {
      if (section.key + "." + option.name == key) return true;
    }
  }
  return false;
}

TEST(OtherNames, LeadToPartsAndKeysThatAreThere) {
  const auto names = registered_names();
  for (const OtherName& other : other_names()) {
    SCOPED_TRACE(other.name);
    ASSERT_TRUE(names.contains(other.kind)) << other.kind;
    const std::vector<std::string>& known = names.at(other.kind);
    std::istringstream words(other.kith);
    for (std::string word; std::getline(words >> std::ws, word, ',');) {
      if (word.find('.') != std::string::npos) {
        EXPECT_TRUE(is_key(word)) << word;
      } else {
        EXPECT_THAT(known, ::testing::Contains(word.substr(0, word.find('@'))));
      }
    }
    // A name of kith's own would never be looked for here.
    EXPECT_THAT(known, ::testing::Not(::testing::Contains(other.name)));
  }
}

TEST(OtherNames, AreInOrderAndOnce) {
  std::set<std::string> seen;
  std::set<std::string> kinds;
  std::string kind;
  for (const OtherName& other : other_names()) {
    if (kind != other.kind) {
      EXPECT_TRUE(kinds.insert(other.kind).second) << other.kind;
      kind = other.kind;
    }
    EXPECT_TRUE(
        seen.insert(kind + " " + other.name + " " + other.library).second)
        << other.name;
  }
}

TEST(OtherNames, AreSaidInErrors) {
  EXPECT_EQ(kith_calls_it("loss", "TripletMarginLoss"),
            "kith calls it 'triplet_all' or 'triplet'");
  EXPECT_EQ(kith_calls_it("loss", "triplet-margin_loss"),
            "kith calls it 'triplet_all' or 'triplet'");
  EXPECT_EQ(kith_calls_it("loss", "CrossBatchMemory"),
            "in kith it is the key 'train.memory'");
  EXPECT_EQ(kith_calls_it("miner", "TripletMarginLoss"), "");
  EXPECT_EQ(kith_calls_it("loss", ""), "");
  try {
    loss_registry().at("MultiSimilarityLoss", "a.yaml:3");
    FAIL();
  } catch (const UnknownName& error) {
    EXPECT_EQ(error.kind(), "loss");
    EXPECT_EQ(error.name(), "MultiSimilarityLoss");
    EXPECT_THAT(error.what(),
                HasSubstr("a.yaml:3: unknown loss 'MultiSimilarityLoss'; kith "
                          "calls it 'multi_similarity'. Known: angular"));
  }
}

}  // namespace
}  // namespace kith
