// What the catalogue of docs/objectives.md says of losses, miners and samplers.

#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/samplers/sampler.h"
#include "tests/support/paths.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// Calls `check` with the name and the facts of every loss, miner and sampler.
template <class Check>
void for_all(const Check& check) {
  const auto walk = [&](const auto& registry) {
    for (const auto& [name, entry] : registry.entries()) {
      SCOPED_TRACE(registry.kind() + " " + name);
      check(entry.facts);
    }
  };
  walk(loss_registry());
  walk(miner_registry());
  walk(sampler_registry());
}

std::set<std::string> golden_items(const PartFacts& facts) {
  std::set<std::string> items;
  std::istringstream list(facts.golden);
  for (std::string item; std::getline(list, item, ',');) {
    items.insert(item.substr(item.find_first_not_of(' ')));
  }
  return items;
}

TEST(Facts, EveryPartHasAFormulaASourceAndACost) {
  for_all([](const PartFacts& facts) {
    EXPECT_STRNE(facts.formula, "");
    EXPECT_STRNE(facts.source, "");
    EXPECT_STRNE(facts.cost, "");
  });
}

TEST(Facts, GoldenItemsAreThere) {
  for_all([](const PartFacts& facts) {
    for (const std::string& item : golden_items(facts)) {
      EXPECT_TRUE(fs::is_directory(fs::path(golden_dir()) / item)) << item;
    }
  });
}

TEST(Facts, EveryGoldenItemOfAPartIsNamed) {
  std::set<std::string> named;
  for_all([&](const PartFacts& facts) { named.merge(golden_items(facts)); });
  for (const auto& folder : fs::directory_iterator(golden_dir())) {
    const std::string item = folder.path().filename();
    for (const char* kind : {"pml_", "rev_", "miner_", "rsk", "hist"}) {
      if (item.starts_with(kind)) {
        EXPECT_EQ(named.count(item), 1u) << item;
      }
    }
  }
}

TEST(Facts, OnlyLossesOnTuplesHaveAMinerAndItExists) {
  for (const auto& [name, entry] : loss_registry().entries()) {
    const std::string miner = entry.traits.miner;
    if (miner.empty()) continue;
    SCOPED_TRACE(name);
    EXPECT_EQ(miner_registry().entries().count(miner), 1u) << miner;
    LossContext context;
    context.classes = 4;
    context.dim = 3;
    ConfigNode node = ConfigNode::map();
    node.set("name", ConfigNode::text(name));
    EXPECT_FALSE(
        loss_registry().make(node, "loss", context)->tuple_widths().empty());
  }
}

}  // namespace
}  // namespace kith
