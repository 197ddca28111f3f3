// The configurations in recipes/.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/config.h"
#include "kith/core/file.h"
#include "kith/eval/metric.h"
#include "kith/eval/metric_name.h"
#include "kith/study/figure.h"
#include "kith/train/run_config.h"
#include "tests/study/recipe_runs.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_is_complete(const std::string& file) {
  for (const RecipeRun& run : recipe_runs(file)) {
    SCOPED_TRACE(run.row);
    const std::string once = to_yaml(run.config.tree);
    EXPECT_EQ(to_yaml(complete_config(parse_config(once, "copy")).tree), once);
  }
}

// So that results and published numbers can stand side by side.
void expect_measures_what_was_published(const std::string& file) {
  for (const RecipeRun& run : recipe_runs(file)) {
    SCOPED_TRACE(run.row);
    std::vector<std::string> measured;
    for (const NamedMetric& m : parse_metrics(run.config.eval.metrics)) {
      measured.push_back(m.name);
    }
    for (const std::string& name : run.published) {
      const std::string bare = MetricName::parse(name).metric();
      EXPECT_TRUE(std::count(measured.begin(), measured.end(), bare)) << name;
    }
    EXPECT_EQ(run.config.published.empty(),
              run.config.published_source.empty());
  }
}

// `kith list recipes` prints the first line; readers copy the command.
void expect_says_what_it_is(const std::string& file) {
  const Recipe recipe = read_recipe(kRecipes, file);
  EXPECT_FALSE(recipe.summary.empty());
  EXPECT_LE(recipe.summary.size(), 80u) << recipe.summary;
  EXPECT_TRUE(recipe.summary.ends_with(".")) << recipe.summary;
  EXPECT_FALSE(recipe.data.empty());
  const std::string text = read_file(kRecipes + "/" + file, 1 << 20);
  const std::string command = recipe.is_study ? "sweep" : "train";
  EXPECT_THAT(text, HasSubstr("\n#   kith " + command + " recipes/" + file));
  if (recipe.published) {
    EXPECT_GT(recipe.published->percent, 1) << "is not in percent";
    EXPECT_FALSE(recipe.published->source.empty());
  }
}

void expect_has_figures_that_can_be_drawn(const std::string& file) {
  const std::string path = kRecipes + "/" + file;
  if (!is_study(load_config(path))) return;
  const Study study = load_study(path);
  for (const NamedFigure& figure : make_figures(study)) {
    EXPECT_THAT(figure.figure->draw({&study, {}}), HasSubstr("<svg"));
  }
}

// Nothing but the k of RS@k, which are published for each.
void expect_with_simix_differs_in_nothing_else(const std::string& file) {
  const std::string ending = "_simix.yaml";
  if (!file.ends_with(ending)) return;
  const std::string plain =
      file.substr(0, file.size() - ending.size()) + ".yaml";
  RunConfig with = load_recipe(file);
  RunConfig without = load_recipe(plain);
  EXPECT_EQ(value_at(with, "loss.simix"), "true");
  EXPECT_EQ(value_at(without, "loss.simix"), "false");
  // The published k of landmarks are others with SiMix, too.
  for (const char* key : {"simix", "k"}) {
    with.tree.find("loss")->set(key, *without.tree.find("loss")->find(key));
  }
  for (RunConfig* config : {&with, &without}) {
    config->tree.find("loss")->set("k", ConfigNode());
    config->tree.set("published", ConfigNode());
  }
  EXPECT_EQ(to_yaml(with.tree), to_yaml(without.tree));
  EXPECT_TRUE(with.published.empty() || with.published != without.published);
}

/// With the name of a folder.
class EveryRecipe : public ::testing::TestWithParam<std::string> {
 protected:
  static void expect_all(void (*expect)(const std::string& file)) {
    for (const std::string& file : recipes_in(GetParam())) {
      SCOPED_TRACE(file);
      expect(file);
    }
  }
};

TEST_P(EveryRecipe, IsComplete) { expect_all(expect_is_complete); }
TEST_P(EveryRecipe, MeasuresWhatWasPublished) {
  expect_all(expect_measures_what_was_published);
}
TEST_P(EveryRecipe, SaysWhatItIs) { expect_all(expect_says_what_it_is); }
TEST_P(EveryRecipe, HasFiguresThatCanBeDrawn) {
  expect_all(expect_has_figures_that_can_be_drawn);
}
TEST_P(EveryRecipe, WithSimixDiffersInNothingElse) {
  expect_all(expect_with_simix_differs_in_nothing_else);
}

INSTANTIATE_TEST_SUITE_P(All, EveryRecipe,
                         ::testing::ValuesIn(recipe_folders()),
                         [](const auto& param_info) {
                           return test_name(param_info.param);
                         });

TEST(Recipes, AreAllThere) {
  const std::vector<std::string> all = recipe_files(kRecipes);
  const auto expect_there = [&](const std::string& name) {
    EXPECT_TRUE(std::count(all.begin(), all.end(), name)) << name;
  };
  for (const std::string data : {"cars196", "cub200", "sop"}) {
    for (const char* net : {"resnet50", "vit_b_32", "vit_b_16"}) {
      for (const char* simix : {"", "_simix"}) {
        expect_there("rsk/" + data + "_" + net + simix + ".yaml");
      }
    }
    expect_there("hist/" + data + "_resnet50.yaml");
    expect_there("hist/" + data + "_bn_inception.yaml");
  }
  for (int table = 4; table <= 11; ++table) {
    expect_there("hist/table" + std::to_string(table) + ".yaml");
  }
  for (const char* name :
       {"rsk/table2_inaturalist", "rsk/table2_sop", "rsk/table2_vehicleid",
        "rsk/table2_cars196", "rsk/supplement_table1", "rsk/supplement_table2",
        "rsk/supplement_figure1", "rsk/figure4_t1", "rsk/figure4_batch_size",
        "fastap/sop", "fastap/inshop", "fastap/vehicleid", "fastap/figure3",
        "revisiting/table4_cub200", "revisiting/table5_cars196",
        "revisiting/table6_sop", "revisiting/table7_cub200_samplers",
        "revisiting/table8_cars196_samplers",
        "revisiting/table9_sop_samplers"}) {
    expect_there(std::string(name) + ".yaml");
  }
}

// A row of a table and the recipe of its own are the same training.
TEST(Recipes, RowsOfATableAreTheRecipes) {
  const auto without_notes = [](RunConfig config) {
    config.tree.set("published", ConfigNode());
    return to_yaml(config.tree);
  };
  for (const std::string data : {"cars196", "sop"}) {
    const std::string table = "rsk/table2_" + data + ".yaml";
    for (const auto& [network, name] :
         {std::pair{"R50-512", "_resnet50"}, std::pair{"ViT-B-32", "_vit_b_32"},
          std::pair{"ViT-B-16", "_vit_b_16"}}) {
      EXPECT_EQ(without_notes(load_row(table, {"RS@k", network})),
                without_notes(load_recipe("rsk/" + data + name + ".yaml")))
          << data << " " << network;
    }
    EXPECT_EQ(
        without_notes(load_row(table, {"RS@k + SiMix", "R50-512"})),
        without_notes(load_recipe("rsk/" + data + "_resnet50_simix.yaml")));
  }
  EXPECT_EQ(without_notes(load_row("rsk/supplement_table2.yaml", {"1,2,4"})),
            without_notes([] {
              RunConfig config = load_recipe("rsk/cars196_resnet50.yaml");
              apply_override(config.tree, "loss.k=[1, 2, 4]");
              return config;
            }()));
}

TEST(Recipes, AreDescribed) {
  const Recipe plain = read_recipe(kRecipes, "rsk/cars196_resnet50.yaml");
  EXPECT_EQ(plain.summary, "RS@k on Cars196 with ResNet-50, 512 dimensions.");
  EXPECT_THAT(plain.data, ElementsAre("cars196"));
  EXPECT_FALSE(plain.is_study);
  ASSERT_TRUE(plain.published);
  EXPECT_EQ(plain.published->metric, "recall_any@1");
  EXPECT_EQ(plain.published->percent, 80.7);

  const Recipe table = read_recipe(kRecipes, "rsk/table2_vehicleid.yaml");
  EXPECT_TRUE(table.is_study);
  EXPECT_EQ(table.rows, 9);
  ASSERT_TRUE(table.published);
  EXPECT_EQ(table.published->metric, "small/recall_any@1");
  EXPECT_EQ(table.published->percent, 96.2);
  EXPECT_EQ(table.published->row, "loss = RS@k, network = ViT-B-16");

  EXPECT_THAT(read_recipe(kRecipes, "hist/table5.yaml").data,
              ElementsAre("cub200", "cars196"));
}

TEST(RecipeFiles, AreFoundByName) {
  const TempDir dir;
  std::filesystem::create_directories(dir.file("b/common"));
  dir.write("b/common/part.yaml", "");
  dir.write("b/two.yaml", "# Two.\ndata: {name: glyphs}\n");
  dir.write("one.yaml", "data: {name: glyphs}\n");
  dir.write("notes.txt", "");
  EXPECT_THAT(recipe_files(dir.path()), ElementsAre("b/two.yaml", "one.yaml"));
  EXPECT_EQ(read_recipe(dir.path(), "b/two.yaml").summary, "Two.");
  EXPECT_EQ(read_recipe(dir.path(), "one.yaml").summary, "");
  EXPECT_FALSE(read_recipe(dir.path(), "one.yaml").published);
  EXPECT_EQ(first_folder({dir.file("none"), dir.path()}), dir.path());
  expect_error<DataError>([&] { first_folder({dir.file("none")}); },
                          "option 'recipes'");
  expect_error<DataError>([&] { recipe_files(dir.file("none")); }, "none");
}

}  // namespace
}  // namespace kith
