#include "cli/list_recipes.h"

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/build_info.h"
#include "cli/common.h"
#include "kith/core/number_text.h"
#include "kith/core/options.h"
#include "kith/study/recipes.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string own_recipes() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  std::vector<std::string> folders;
  for (const char* way : {kInstalledRecipes, kSourceRecipes}) {
    const fs::path folder = program.parent_path() / way;
    folders.push_back(folder.lexically_normal().string());
  }
  return first_folder(folders);
}

/// A path that works here and is short: relative if it lies below the current
/// folder.
std::string shown_path(const std::string& folder, const std::string& file) {
  const fs::path path = fs::path(folder) / file;
  std::error_code failed;
  const fs::path near = fs::proximate(path, failed);
  const bool below = !failed && !near.empty() && *near.begin() != "..";
  return below ? near.generic_string() : path.generic_string();
}

const char* command_of(const Recipe& recipe) {
  return recipe.is_study ? "sweep" : "train";
}

void print_recipe(const std::string& path, const Recipe& recipe) {
  print_line(path + ": " + recipe.summary);
  std::string line = std::string("  kith ") + command_of(recipe);
  if (recipe.is_study) line += "; " + std::to_string(recipe.rows) + " rows";
  line += "; data " + join(recipe.data);
  if (recipe.published) {
    line += "; published " + recipe.published->metric +
            format_number(" %g%%", recipe.published->percent);
    if (!recipe.published->row.empty()) {
      line += " (" + recipe.published->row + ")";
    }
  }
  print_line(line);
}

Json to_json(const std::string& path, const Recipe& recipe) {
  Json json = {{"path", path},
               {"summary", recipe.summary},
               {"command", command_of(recipe)},
               {"rows", recipe.rows},
               {"data", recipe.data},
               {"published", nullptr}};
  if (recipe.published) {
    json["published"] = {{"metric", recipe.published->metric},
                         {"percent", recipe.published->percent},
                         {"row", recipe.published->row},
                         {"source", recipe.published->source}};
  }
  return json;
}

}  // namespace

void list_recipes(const std::string& folder, bool json) {
  const std::string root = folder.empty() ? own_recipes() : folder;
  Json list = Json::array();
  for (const std::string& file : recipe_files(root)) {
    const Recipe recipe = read_recipe(root, file);
    const std::string path = shown_path(root, file);
    if (json) {
      list.push_back(to_json(path, recipe));
    } else {
      print_recipe(path, recipe);
    }
  }
  if (json) print_json(Json({{"recipes", list}}));
}

}  // namespace kith
