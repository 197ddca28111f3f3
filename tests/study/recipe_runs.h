#pragma once

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kith/study/recipes.h"
#include "kith/study/study.h"
#include "kith/train/run_config.h"
#include "tests/support/paths.h"

namespace kith {

inline const std::string kRecipes = source_dir() + "/recipes";

/// A training of a recipe, or a combination of a study's axes.
struct RecipeRun {
  std::string row;  ///< "loss = SAP, network = R50-512", or empty.
  RunConfig config;
  std::vector<std::string> published;  ///< Names of metrics.
};

/// What a recipe trains, each combination of a study once.
inline std::vector<RecipeRun> recipe_runs(const std::string& file) {
  const std::string path = kRecipes + "/" + file;
  const ConfigNode user = load_config(path);
  std::vector<RecipeRun> runs;
  if (!is_study(user)) {
    runs.push_back({"", complete_config(user), {}});
    for (const auto& [name, percent] : runs[0].config.published) {
      runs[0].published.push_back(name);
    }
    return runs;
  }
  const Study study = load_study(path);
  for (const StudyRun& run : study_runs(study)) {
    if (run.seed != study.seeds.front()) continue;
    RecipeRun one{
        describe_labels(study, run.labels), complete_config(run.config), {}};
    if (const PublishedRow* row = published_row(study, run.labels)) {
      for (const auto& [name, percent] : row->percent) {
        // What follows the training measures the others.
        const bool is_own =
            study.kind(name) == name &&
            std::none_of(study.evaluations.begin(), study.evaluations.end(),
                         [&](const StudyEvaluation& evaluation) {
                           return name.starts_with(evaluation.name + "/");
                         });
        if (is_own) one.published.push_back(name);
      }
    }
    runs.push_back(std::move(one));
  }
  return runs;
}

/// A recipe that is a training.
inline RunConfig load_recipe(const std::string& recipe) {
  return complete_config(load_config(kRecipes + "/" + recipe));
}

/// The run of a study with these labels.
inline RunConfig load_row(const std::string& file, const Labels& labels) {
  const Study study = load_study(kRecipes + "/" + file);
  for (const StudyRun& run : study_runs(study)) {
    if (run.labels == labels) return complete_config(run.config);
  }
  ADD_FAILURE() << file << " has no such row";
  return {};
}

/// "a.b.c" of the effective configuration, as YAML without the line's end.
inline std::string value_at(const RunConfig& config, const std::string& path) {
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

/// Folders of recipes; those in none are in ".".
inline std::vector<std::string> recipe_folders() {
  std::set<std::string> folders;
  for (const std::string& file : recipe_files(kRecipes)) {
    const std::string folder = std::filesystem::path(file).parent_path();
    folders.insert(folder.empty() ? "." : folder);
  }
  return {folders.begin(), folders.end()};
}

/// The recipes of a folder.
inline std::vector<std::string> recipes_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const std::string& file : recipe_files(kRecipes)) {
    const std::string own = std::filesystem::path(file).parent_path();
    if ((own.empty() ? "." : own) == folder) files.push_back(file);
  }
  return files;
}

/// A name of a test for a folder.
inline std::string test_name(const std::string& folder) {
  return folder == "." ? "top" : folder;
}

}  // namespace kith
