#include "kith/study/config_keys.h"

#include <set>

#include <gtest/gtest.h>

#include "kith/losses/loss.h"
#include "kith/train/run_config.h"

namespace kith {
namespace {

std::set<std::string> known_keys() {
  std::set<std::string> keys;
  for (const ConfigSection& section : configuration_sections()) {
    for (const OptionInfo& option : section.options) {
      keys.insert(section.key + "." + option.name);
    }
    for (const ConfigPart& part : section.parts) {
      keys.insert(section.key + ".name");
      for (const OptionInfo& option : part.options) {
        keys.insert(section.key + "." + option.name);
      }
    }
  }
  return keys;
}

/// Every key of a complete configuration below `path`.
void expect_keys(const ConfigNode& node, const std::string& path,
                 const std::set<std::string>& known) {
  for (const auto& [key, value] : node.entries) {
    const std::string full = path.empty() ? key : path + "." + key;
    if (value.is_map()) {
      expect_keys(value, full, known);
    } else if (value.kind == ConfigNode::Kind::kList && full == "augment") {
      for (const ConfigNode& item : value.items) {
        expect_keys(item, "augment[]", known);
      }
    } else if (full != "miner") {  // null: none
      EXPECT_TRUE(known.contains(full)) << full;
    }
  }
}

TEST(ConfigKeys, HoldWhateverACompleteConfigurationHas) {
  const ConfigNode user = parse_config(
      "{data: {name: csv, path: x}, augment: [{name: flip}], loss: {name: "
      "margin}, eval: {split: test}, started: {folder: /x, out: y}, published: "
      "{source: a paper}}",
      "test");
  expect_keys(complete_config(user).tree, "", known_keys());
}

TEST(ConfigKeys, SayTheUsualPartAndHaveHelpEverywhere) {
  std::set<std::string> sections;
  for (const ConfigSection& section : configuration_sections()) {
    SCOPED_TRACE(section.key);
    EXPECT_TRUE(sections.insert(section.key).second);
    EXPECT_NE(section.about, "");
    if (section.key == "loss") {
      EXPECT_EQ(section.usual, "recall_at_k");
      EXPECT_EQ(section.parts.size(), loss_registry().names().size());
    }
    if (section.key == "model.backbone") {
      EXPECT_EQ(section.usual, "convnet");
    }
    for (const OptionInfo& option : section.options) {
      EXPECT_NE(option.help, "") << option.name;
    }
  }
  for (const char* key : {"data", "train", "eval", "log", "study",
                          "study.axes[]", "study.search"}) {
    EXPECT_TRUE(sections.contains(key)) << key;
  }
}

}  // namespace
}  // namespace kith
