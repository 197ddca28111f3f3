// Every training of every recipe takes a few steps: with its loss, miner,
// sampler, head, optimiser and schedule, on a tiny network and tiny pictures.
#include "tests/study/recipe_runs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/rng.h"
#include "kith/eval/metric.h"
#include "kith/models/embedding_net.h"
#include "kith/train/trainer.h"

namespace kith {
namespace {

constexpr int64_t kTrainClasses = 16;
constexpr int64_t kTestClasses = 5;
constexpr int64_t kPerClass = 8;

/// Noise of 20 x 20 pixels with all that samplers and protocols ask for: two
/// categories, queries and gallery, and the lists of VehicleID.
class TinySet final : public DataSet {
 public:
  TinySet() {
    list_.has_query_gallery = true;
    for (int64_t label = 0; label < kTrainClasses + kTestClasses; ++label) {
      for (int64_t i = 0; i < kPerClass; ++i) add(label, i);
    }
  }

 protected:
  StoredImage read(int64_t index) const override {
    Image image(20, 20, 3);
    Rng rng(0, Stream::kAugment, {index});
    for (uint8_t& value : image.pixels) {
      value = static_cast<uint8_t>(rng.below(256));
    }
    return image;
  }

 private:
  void add(int64_t label, int64_t i) {
    const auto position = static_cast<int64_t>(list_.items.size());
    Item item;
    item.path = std::to_string(position);
    item.label = label;
    item.split = label < kTrainClasses ? Split::kTrain : Split::kTest;
    item.category = label % 2 == 0 ? "even" : "odd";
    item.is_query = i % 2 == 0;
    item.is_gallery = !item.is_query;
    if (item.split == Split::kTest) {
      for (const char* list : {"small", "medium", "large"}) {
        list_.lists[list].push_back(position);
      }
    }
    list_.items.push_back(std::move(item));
  }
};

void set_if_there(ConfigNode& map, const std::string& key,
                  const std::string& value) {
  if (map.is_map() && map.find(key) != nullptr) {
    map.set(key, ConfigNode::text(value));
  }
}

/// As many images a class as the recipe says, in two classes or more.
void shrink_sampler(ConfigNode& sampler) {
  const ConfigNode* per_class = sampler.find("per_class");
  const int64_t m = per_class == nullptr ? 2 : std::stoll(per_class->scalar);
  set_if_there(sampler, "batch",
               std::to_string(m * std::max<int64_t>(2, 16 / m)));
  set_if_there(sampler, "pool", "64");
  // The tiny set has two categories.
  const ConfigNode* categories = sampler.find("categories_per_batch");
  if (categories != nullptr && std::stoll(categories->scalar) > 2) {
    sampler.set("categories_per_batch", ConfigNode::text("2"));
  }
}

void shrink_model(ConfigNode& model) {
  model.set("weights", ConfigNode::text(""));
  model.set("backbone",
            parse_config("{name: convnet, width: 8}", "tiny backbone"));
  ConfigNode& input = *model.find("input");
  set_if_there(input, "size", "16");
  set_if_there(input, "long_side", "0");
  set_if_there(input, "resize", "20");
  ConfigNode& head = *model.find("head");
  set_if_there(head, "dim", "8");
  if (head.find("pooling")->scalar == "class_token") {
    head.set("pooling", ConfigNode::text("average"));
  }
}

/// The tiny set has labels, and no lists of right answers as landmarks have.
void shrink_eval(ConfigNode& eval) {
  const std::string protocol = eval.find("protocol")->scalar;
  if (protocol == "revisited" || protocol == "listed") {
    eval.set("protocol", ConfigNode::text("standard"));
  }
  eval.set("split", ConfigNode::text("test"));
  apply_override(eval, "scales=[1]");
}

RunConfig tiny(const RunConfig& config) {
  ConfigNode tree = config.tree;
  tree.set("data", parse_config("{name: glyphs}", "tiny data"));
  tree.set("published", ConfigNode());
  shrink_sampler(*tree.find("sampler"));
  shrink_model(*tree.find("model"));
  for (ConfigNode& step : tree.find("augment")->items) {
    set_if_there(step, "size", "16");
  }
  set_if_there(*tree.find("loss"), "hidden", "8");
  ConfigNode& train = *tree.find("train");
  for (const char* key : {"sub_batch", "cache_mb", "checkpoint_steps"}) {
    set_if_there(train, key, "0");
  }
  set_if_there(train, "workers", "1");
  shrink_eval(*tree.find("eval"));
  return complete_config(tree);
}

/// What of a tiny configuration decides whether it works.
std::string essence(const RunConfig& config) {
  std::string text;
  for (const char* part :
       {"loss", "miner", "sampler", "augment", "model.head", "optimizer.name",
        "schedule.name", "train.mixup", "eval.protocol", "eval.metrics"}) {
    text += value_at(config, part) + "\n";
  }
  return text;
}

std::set<std::string> names_of(const EvalResult& result) {
  std::set<std::string> names;
  for (const MetricValue& metric : result.metrics) names.insert(metric.name);
  return names;
}

/// The metrics that this configuration measures on the tiny set, after a few
/// steps. Configurations that differ in nothing that matters are run once.
const std::set<std::string>& measured(const RunConfig& config) {
  static std::map<std::string, std::set<std::string>> known;
  const RunConfig small = tiny(config);
  const auto [found, is_new] = known.try_emplace(essence(small));
  if (is_new) {
    static const TinySet data;
    Trainer trainer(small, data, "", torch::kCPU, silent_progress());
    const DryRun run = trainer.dry_run();
    EXPECT_GT(run.steps, 0);
    found->second = names_of(trainer.evaluate_now());
  }
  return found->second;
}

/// "separated/map_at_r" and "concatenated/map_at_r" are map_at_r of folds.
std::string without_folds(const std::string& metric) {
  for (const std::string part : {"separated/", "concatenated/"}) {
    if (metric.starts_with(part)) return metric.substr(part.size());
  }
  return metric;
}

/// With the name of a folder.
class RecipeRuns : public ::testing::TestWithParam<std::string> {};

TEST_P(RecipeRuns, TrainAndMeasureWhatWasPublished) {
  for (const std::string& file : recipes_in(GetParam())) {
    for (const RecipeRun& run : recipe_runs(file)) {
      SCOPED_TRACE(file + " " + run.row);
      const std::set<std::string>& names = measured(run.config);
      if (run.config.eval.protocol == "revisited") continue;
      for (const std::string& metric : run.published) {
        EXPECT_TRUE(names.count(without_folds(metric))) << metric;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecipeRuns, ::testing::ValuesIn(recipe_folders()),
                         [](const auto& param_info) {
                           return test_name(param_info.param);
                         });

// Weights take long to draw: each network once, whatever its dimension.
TEST(RecipeNetworks, CanAllBeBuilt) {
  std::set<std::string> built;
  for (const std::string& file : recipe_files(kRecipes)) {
    for (const RecipeRun& run : recipe_runs(file)) {
      ConfigNode model = *run.config.tree.find("model");
      set_if_there(*model.find("head"), "dim", "8");
      std::string key;
      for (const char* part : {"backbone", "head", "bn"}) {
        key += to_yaml(*model.find(part));
      }
      if (!built.insert(key).second) continue;
      SCOPED_TRACE(file + " " + run.row);
      EXPECT_EQ(EmbeddingNet(model).dim(), 8);
    }
  }
  EXPECT_GT(built.size(), 10u);
}

}  // namespace
}  // namespace kith
