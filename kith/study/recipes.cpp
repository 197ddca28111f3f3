#include "kith/study/recipes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "kith/core/error.h"
#include "kith/core/options.h"
#include "kith/eval/metric.h"
#include "kith/study/study.h"
#include "kith/train/run_config.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

/// The text of a comment in the first line; empty if it is none.
std::string first_comment(const std::string& path) {
  constexpr std::streamsize kMaxLine = 1000;
  std::ifstream file(path);
  std::string line(static_cast<size_t>(kMaxLine), '\0');
  file.getline(line.data(), kMaxLine);
  line.resize(line.find('\0'));
  return line.starts_with("# ") ? line.substr(2) : "";
}

void add_data(const ConfigNode& config, Recipe& recipe) {
  const std::string& name = config.find("data")->find("name")->scalar;
  if (!std::count(recipe.data.begin(), recipe.data.end(), name)) {
    recipe.data.push_back(name);
  }
}

/// The best row in the first column that a row has.
std::optional<PublishedNumber> best_row(const Study& study) {
  for (const std::string& metric : study.metrics) {
    std::optional<PublishedNumber> best;
    for (const PublishedRow& row : study.published) {
      const auto found = row.percent.find(metric);
      if (found == row.percent.end()) continue;
      if (best && !is_better(found->second, best->percent, better_of(metric))) {
        continue;
      }
      best = {metric, found->second, describe_labels(study, row.labels),
              study.published_source};
    }
    if (best) return best;
  }
  return std::nullopt;
}

void read_study(const std::string& path, Recipe& recipe) {
  const Study study = load_study(path);
  recipe.is_study = true;
  recipe.published = best_row(study);
  recipe.rows = 0;
  for (const StudyRun& run : study_runs(study)) {
    if (run.seed != study.seeds.front()) continue;
    ++recipe.rows;
    add_data(run.config, recipe);
  }
}

void read_training(const ConfigNode& user, Recipe& recipe) {
  const RunConfig config = complete_config(user);
  add_data(config.tree, recipe);
  if (config.published.empty()) return;
  const auto& [metric, percent] = config.published.front();
  recipe.published = {metric, percent, "", config.published_source};
}

}  // namespace

std::vector<std::string> recipe_files(const std::string& folder) {
  std::vector<std::string> files;
  try {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const fs::path path = entry.path().lexically_relative(folder);
      if (path.extension() == ".yaml" && entry.is_regular_file() &&
          path.parent_path().filename() != "common") {
        files.push_back(path.generic_string());
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw DataError(folder + ": not a folder of recipes that can be read: " +
                    error.code().message());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Recipe read_recipe(const std::string& folder, const std::string& file) {
  const std::string path = (fs::path(folder) / file).string();
  Recipe recipe;
  recipe.file = file;
  recipe.summary = first_comment(path);
  const ConfigNode config = load_config(path);
  if (is_study(config)) {
    read_study(path, recipe);
  } else {
    read_training(config, recipe);
  }
  return recipe;
}

std::string first_folder(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code ignored;
    if (fs::is_directory(folder, ignored)) return folder;
  }
  throw DataError("no recipes in " + join(folders, " or ") +
                  "; name their folder with option 'recipes'");
}

}  // namespace kith
