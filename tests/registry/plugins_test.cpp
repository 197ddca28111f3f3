#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/data/augment.h"
#include "kith/data/corruption.h"
#include "kith/data/data_set.h"
#include "kith/eval/compression.h"
#include "kith/eval/metric.h"
#include "kith/eval/protocol.h"
#include "kith/index/reranker.h"
#include "kith/index/vector_index.h"
#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/models/backbone.h"
#include "kith/samplers/sampler.h"
#include "kith/study/figure.h"
#include "kith/train/optimizer.h"
#include "kith/train/schedule.h"
#include "tests/support/paths.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

/// The names in each registry, by the function that gives it.
using Registries = std::map<std::string, Names>;

/// A KITH_REGISTER line.
struct RegisterLine {
  std::string file;
  std::string registry;  ///< "loss_registry"
  std::string name;
};

std::vector<RegisterLine> lines_in(const std::string& source,
                                   const std::string& file) {
  static const std::regex line(
      R"rx(\nKITH_REGISTER\(\s*(\w+)\(\),\s*"([^"]*)",)rx");
  std::vector<RegisterLine> lines;
  for (auto match = std::sregex_iterator(source.begin(), source.end(), line);
       match != std::sregex_iterator(); ++match) {
    lines.push_back({file, (*match)[1], (*match)[2]});
  }
  return lines;
}

/// Of all source files of the library.
std::vector<RegisterLine> all_lines() {
  std::vector<RegisterLine> lines;
  const fs::path root = fs::path(source_dir()) / "kith";
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".cpp") continue;
    std::ostringstream source;
    source << std::ifstream(entry.path()).rdbuf();
    const std::string file = fs::relative(entry.path(), root).string();
    for (RegisterLine& line : lines_in(source.str(), file)) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

/// What is wrong between KITH_REGISTER lines and registries: a line whose name
/// is not there (its file is not compiled into the library), a name without a
/// line.
Names differences(const std::vector<RegisterLine>& lines,
                  const Registries& registries) {
  Names problems;
  Registries found;
  for (const RegisterLine& line : lines) {
    found[line.registry].push_back(line.name);
    const auto names = registries.find(line.registry);
    if (names == registries.end()) {
      problems.push_back(line.file + ": no registry " + line.registry);
    } else if (!std::count(names->second.begin(), names->second.end(),
                           line.name)) {
      problems.push_back(line.file + ": '" + line.name + "' is not registered");
    }
  }
  for (const auto& [registry, names] : registries) {
    const Names& own = found[registry];
    for (const std::string& name : names) {
      if (!std::count(own.begin(), own.end(), name)) {
        problems.push_back(registry + ": '" + name + "' has no line");
      }
    }
  }
  return problems;
}

/// Shapes of parts have no lines of their own.
template <class Parts>
Names part_names(const Parts& registry) {
  Names names;
  for (const auto& [name, entry] : registry.entries()) {
    if (!entry.is_shape) names.push_back(name);
  }
  return names;
}

Registries all_registries() {
  return {{"data_set_registry", part_names(data_set_registry())},
          {"augmentation_registry", part_names(augmentation_registry())},
          {"corruption_registry", part_names(corruption_registry())},
          {"sampler_registry", part_names(sampler_registry())},
          {"backbone_registry", part_names(backbone_registry())},
          {"miner_registry", part_names(miner_registry())},
          {"loss_registry", part_names(loss_registry())},
          {"optimizer_registry", part_names(optimizer_registry())},
          {"schedule_registry", part_names(schedule_registry())},
          {"metric_registry", part_names(metric_registry())},
          {"protocol_registry", part_names(protocol_registry())},
          {"compression_registry", part_names(compression_registry())},
          {"vector_index_registry", part_names(vector_index_registry())},
          {"reranker_registry", part_names(reranker_registry())},
          {"figure_registry", part_names(figure_registry())}};
}

TEST(Plugins, EveryLineRegistersItsNameAndEveryNameHasItsLine) {
  EXPECT_THAT(differences(all_lines(), all_registries()), IsEmpty());
}

TEST(Plugins, EveryRegistryHasAPart) {
  for (const auto& [registry, names] : all_registries()) {
    EXPECT_FALSE(names.empty()) << registry;
  }
}

TEST(Plugins, LinesAreFoundOverTwoLinesAndNotInsideOne) {
  const std::vector<RegisterLine> lines = lines_in(
      "// KITH_REGISTER(hat_registry(), \"no\", No);\n"
      "KITH_REGISTER(hat_registry(), \"a\", A);\n"
      "KITH_REGISTER(hat_registry(),\n              \"b\", B);\n",
      "hats.cpp");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].name, "a");
  EXPECT_EQ(lines[1].name, "b");
  EXPECT_EQ(lines[1].registry, "hat_registry");
  EXPECT_EQ(lines[1].file, "hats.cpp");
}

TEST(Plugins, TheCheckSeesALineThatRegistersNothing) {
  std::vector<RegisterLine> lines = all_lines();
  lines.push_back({"losses/forgotten.cpp", "loss_registry", "forgotten"});
  EXPECT_THAT(differences(lines, all_registries()),
              ElementsAre("losses/forgotten.cpp: 'forgotten' is not "
                          "registered"));
}

TEST(Plugins, TheCheckSeesANameWithoutALineAndAnUnknownRegistry) {
  EXPECT_THAT(differences({}, {{"loss_registry", {"a"}}}),
              ElementsAre("loss_registry: 'a' has no line"));
  EXPECT_THAT(differences({{"hats/a.cpp", "hat_registry", "a"}}, {}),
              ElementsAre("hats/a.cpp: no registry hat_registry"));
}

}  // namespace
}  // namespace kith
