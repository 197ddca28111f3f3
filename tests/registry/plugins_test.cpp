#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/data/augment.h"
#include "kith/data/corruption.h"
#include "kith/data/data_set.h"
#include "kith/eval/metric.h"
#include "kith/eval/protocol.h"
#include "kith/index/vector_index.h"
#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/models/backbone.h"
#include "kith/samplers/sampler.h"
#include "kith/study/figure.h"
#include "kith/train/optimizer.h"
#include "kith/train/schedule.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Names = std::vector<std::string>;

/// The names registered by the files of each plug-in folder.
using Registries = std::map<std::string, Names>;

/// Files in plug-in folders that define the registry or what parts share.
const std::set<std::string> kRegistryFiles = {
    "losses/class_vectors.cpp",
    "losses/loss.cpp",
    "losses/margin_beta.cpp",
    "losses/pair_terms.cpp",
    "losses/row_loss.cpp",
    "losses/unit_embeddings.cpp",
    "miners/choose.cpp",
    "miners/class_places.cpp",
    "miners/distance_weights.cpp",
    "miners/distances.cpp",
    "miners/miner.cpp",
    "samplers/classes.cpp",
    "samplers/draw.cpp",
    "samplers/epoch_use.cpp",
    "samplers/image_row.cpp",
    "samplers/sampler.cpp",
    "samplers/pool/farthest_points.cpp",
    "samplers/pool/match_sampler.cpp",
    "samplers/pool/pool_sampler.cpp",
    "samplers/pool/scores.cpp",
    "samplers/pool/threads.cpp"};

/// Folders whose parts are in the registry of another: those that need LibTorch
/// are built apart.
const std::map<std::string, std::string> kFolderOf = {
    {"samplers/pool", "samplers"}};

/// What is wrong between plug-in files ("losses/contrastive.cpp") and
/// registries: a file that registers nothing under its own name, a file in a
/// folder without a registry, a name without a file.
Names missing_registrations(const Names& files, const Registries& registries) {
  Names problems;
  std::set<std::string> expected;  // "losses/contrastive"
  for (const std::string& file : files) {
    if (kRegistryFiles.count(file)) continue;
    const size_t slash = file.rfind('/');
    std::string folder = file.substr(0, slash);
    if (kFolderOf.count(folder)) folder = kFolderOf.at(folder);
    const std::string stem =
        file.substr(slash + 1, file.rfind('.') - slash - 1);
    expected.insert(folder + "/" + stem);
    const auto found = registries.find(folder);
    if (found == registries.end()) {
      problems.push_back(file + ": no registry for " + folder);
    } else if (!std::count(found->second.begin(), found->second.end(), stem)) {
      problems.push_back(file + ": '" + stem + "' is not registered");
    }
  }
  for (const auto& [folder, names] : registries) {
    for (const std::string& name : names) {
      if (!expected.count(folder + "/" + name)) {
        problems.push_back(folder + ": '" + name + "' has no file");
      }
    }
  }
  return problems;
}

Names plugin_files() {
  Names files;
  std::istringstream list(KITH_PLUGIN_FILES);
  for (std::string file; std::getline(list, file, ',');) files.push_back(file);
  return files;
}

Registries all_registries() {
  return {{"data/sets", data_set_registry().names()},
          {"data/augment", augmentation_registry().names()},
          {"data/corruptions", corruption_registry().names()},
          {"samplers", sampler_registry().names()},
          {"models/backbones", backbone_registry().names()},
          {"miners", miner_registry().names()},
          {"losses", loss_registry().names()},
          {"train/optimizers", optimizer_registry().names()},
          {"train/schedules", schedule_registry().names()},
          {"eval/metrics", metric_registry().names()},
          {"eval/protocols", protocol_registry().names()},
          {"index/kinds", vector_index_registry().names()},
          {"study/figures", figure_registry().names()}};
}

TEST(Plugins, EveryFileRegistersItsNameAndEveryNameHasItsFile) {
  EXPECT_THAT(missing_registrations(plugin_files(), all_registries()),
              IsEmpty());
}

TEST(Plugins, EveryRegistryHasAPart) {
  for (const auto& [folder, names] : all_registries()) {
    EXPECT_FALSE(names.empty()) << folder;
  }
}

TEST(Plugins, TheCheckSeesAFileThatRegistersNothing) {
  Names files = plugin_files();
  files.emplace_back("losses/forgotten.cpp");
  EXPECT_THAT(missing_registrations(files, all_registries()),
              ElementsAre("losses/forgotten.cpp: 'forgotten' is not "
                          "registered"));
}

TEST(Plugins, TheCheckSeesANameWithoutAFileAndAnUnknownFolder) {
  EXPECT_THAT(missing_registrations({"losses/loss.cpp"}, {{"losses", {"a"}}}),
              ElementsAre("losses: 'a' has no file"));
  EXPECT_THAT(missing_registrations({"hats/a.cpp"}, {{"losses", {}}}),
              ElementsAre("hats/a.cpp: no registry for hats"));
}

}  // namespace
}  // namespace kith
