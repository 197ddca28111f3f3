// The configurations in recipes/.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/config.h"
#include "kith/eval/metric.h"
#include "kith/train/run_config.h"
#include "tests/paths.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

const std::string kRecipes = std::string(KITH_SOURCE_DIR) + "/recipes/";

/// Paths below recipes/; files in a folder `common` are parts of recipes.
std::vector<std::string> recipes() {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(kRecipes)) {
    const fs::path path = entry.path().lexically_relative(kRecipes);
    if (path.extension() == ".yaml" && path.parent_path().stem() != "common") {
      found.push_back(path.string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

RunConfig load(const std::string& recipe) {
  return complete_config(load_config(kRecipes + recipe));
}

/// "a.b.c" of the effective configuration, as YAML without the line's end.
std::string value_at(const RunConfig& config, const std::string& path) {
  const ConfigNode* node = &config.tree;
  for (size_t begin = 0; begin <= path.size() && node != nullptr;) {
    const size_t end = std::min(path.find('.', begin), path.size());
    node = node->find(path.substr(begin, end - begin));
    begin = end + 1;
  }
  if (node == nullptr) return "no " + path;
  std::string yaml = to_yaml(*node);
  yaml.pop_back();
  return yaml;
}

void expect_values(
    const RunConfig& config,
    const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [path, value] : values) {
    EXPECT_EQ(value_at(config, path), value) << path;
  }
}

class EveryRecipe : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryRecipe, IsComplete) {
  const RunConfig config = load(GetParam());
  const std::string once = to_yaml(config.tree);
  EXPECT_EQ(to_yaml(complete_config(parse_config(once, "copy")).tree), once);
}

// So that results and published numbers can stand side by side.
TEST_P(EveryRecipe, MeasuresWhatWasPublished) {
  const RunConfig config = load(GetParam());
  std::vector<std::string> measured;
  for (const NamedMetric& metric : parse_metrics(config.eval.metrics)) {
    measured.push_back(metric.name);
  }
  EXPECT_EQ(config.published.empty(), config.published_source.empty());
  for (const auto& [name, percent] : config.published) {
    EXPECT_TRUE(std::count(measured.begin(), measured.end(), name)) << name;
    EXPECT_GT(percent, 1) << name << " is not in percent";
  }
}

TEST_P(EveryRecipe, WithSimixDiffersInNothingElse) {
  const std::string ending = "_simix.yaml";
  if (!GetParam().ends_with(ending)) return;
  const std::string plain =
      GetParam().substr(0, GetParam().size() - ending.size()) + ".yaml";
  RunConfig with = load(GetParam());
  RunConfig without = load(plain);
  EXPECT_EQ(value_at(with, "loss.simix"), "true");
  EXPECT_EQ(value_at(without, "loss.simix"), "false");
  with.tree.find("loss")->set("simix", ConfigNode::text("false"));
  for (RunConfig* config : {&with, &without}) {
    config->tree.set("published", ConfigNode());
  }
  EXPECT_EQ(to_yaml(with.tree), to_yaml(without.tree));
  EXPECT_TRUE(with.published.empty() || with.published != without.published);
}

INSTANTIATE_TEST_SUITE_P(All, EveryRecipe, ::testing::ValuesIn(recipes()),
                         [](const auto& param_info) {
                           std::string name = param_info.param;
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) {
                               c = '_';
                             }
                           }
                           return name;
                         });

TEST(Recipes, AreAllThere) {
  const std::vector<std::string> all = recipes();
  for (const char* data : {"cars196", "cub200", "sop"}) {
    for (const char* net : {"resnet50", "vit_b_32", "vit_b_16"}) {
      for (const char* simix : {"", "_simix"}) {
        const std::string name =
            "rsk/" + std::string(data) + "_" + net + simix + ".yaml";
        EXPECT_TRUE(std::count(all.begin(), all.end(), name)) << name;
      }
    }
  }
}

// Patel et al., CVPR 2022, section 4.2.
TEST(Recipes, HaveThePublishedSettings) {
  const RunConfig cars = load("rsk/cars196_resnet50.yaml");
  expect_values(cars, {{"data.name", "cars196"},
                       {"sampler.batch", "392"},
                       {"sampler.per_class", "4"},
                       {"model.bn", "stats"},
                       {"model.input.size", "224"},
                       {"model.input.resize", "256"},
                       {"model.backbone.name", "resnet50"},
                       {"model.head.dim", "512"},
                       {"model.head.pooling", "gem"},
                       {"model.head.gem_p", "3"},
                       {"model.head.layer_norm", "before"},
                       {"loss.name", "recall_at_k"},
                       {"loss.t1", "1"},
                       {"loss.t2", "0.01"},
                       {"loss.k", "[]"},
                       {"miner", "~"},
                       {"optimizer.name", "adam"},
                       {"optimizer.lr", "1e-04"},
                       {"optimizer.weight_decay", "4e-04"},
                       {"schedule.name", "step"},
                       {"schedule.milestones", "[80, 140]"},
                       {"schedule.gamma", "0.3"},
                       {"train.epochs", "170"}});
  EXPECT_EQ(cars.published.front().second, 80.7);
  const ConfigNode& augment = *cars.tree.find("augment");
  ASSERT_EQ(augment.items.size(), 2u);
  EXPECT_EQ(augment.items[0].find("name")->scalar, "random_resized_crop");
  EXPECT_EQ(augment.items[1].find("name")->scalar, "flip");

  expect_values(load("rsk/cub200_resnet50_simix.yaml"),
                {{"sampler.batch", "400"},
                 {"schedule.milestones", "[10, 20, 30]"},
                 {"train.epochs", "40"},
                 {"published.recall_any@1", "69.5"}});
  expect_values(load("rsk/sop_vit_b_16.yaml"),
                {{"sampler.batch", "4000"},
                 {"train.sub_batch", "200"},
                 {"model.backbone.name", "vit_b_16"},
                 {"model.head.pooling", "class_token"},
                 {"optimizer.name", "adamw"},
                 {"optimizer.lr", "5e-05"},
                 {"optimizer.weight_decay", "4e-04"},
                 {"published.recall_any@1000", "99.6"}});
}

// Lim et al., CVPR 2022, supplement, Table 3.
TEST(Recipes, OfHistHaveThePublishedSettings) {
  expect_values(load("hist/cub200_resnet50.yaml"),
                {{"data.name", "cub200"},
                 {"sampler.name", "uniform"},
                 {"sampler.batch", "32"},
                 {"model.bn", "all"},
                 {"model.head.dim", "512"},
                 {"model.head.pooling", "max_average"},
                 {"model.head.init", "he_normal"},
                 {"model.head.layer_norm", "after"},
                 {"model.head.layer_norm_affine", "false"},
                 {"model.head.l2", "false"},
                 {"loss.name", "hist"},
                 {"loss.tau", "32"},
                 {"loss.alpha", "1.1"},
                 {"loss.hidden", "512"},
                 {"loss.lr_distributions", "0.1"},
                 {"loss.lr_hgnn", "6e-04"},
                 {"optimizer.name", "adam"},
                 {"optimizer.lr", "0.00012"},
                 {"optimizer.weight_decay", "5e-05"},
                 {"schedule.gamma", "0.5"},
                 {"schedule.milestones", "[5, 10, 15, 20, 25, 30, 35]"},
                 {"train.epochs", "40"},
                 {"train.head_epochs", "1"},
                 {"published.recall_any@1", "71.4"}});
  expect_values(load("hist/cars196_resnet50.yaml"),
                {{"loss.alpha", "0.9"},
                 {"loss.lr_hgnn", "0.001"},
                 {"optimizer.weight_decay", "1e-04"},
                 {"train.epochs", "50"},
                 {"published.recall_any@8", "97.8"}});
  expect_values(load("hist/sop_resnet50.yaml"),
                {{"model.bn", "train"},
                 {"loss.tau", "16"},
                 {"loss.alpha", "2"},
                 {"loss.lr_distributions", "0.01"},
                 {"train.epochs", "60"},
                 {"published.recall_any@1000", "98.9"}});
}

TEST(Recipes, ReferenceOnCars) {
  expect_values(load("cars196_mobilenet.yaml"),
                {{"data.name", "csv"},
                 {"sampler.batch", "392"},
                 {"model.backbone.name", "mobilenet_v2"},
                 {"model.bn", "stats"},
                 {"model.precision", "bf16"},
                 {"optimizer.lr", "3e-04"},
                 {"schedule.milestones", "[18.8, 32.8]"},
                 {"train.epochs", "40"},
                 {"eval.every", "10"}});
}

}  // namespace
}  // namespace kith
