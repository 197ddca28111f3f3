#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kith {

/// The number of a recipe that a reader looks for first.
struct PublishedNumber {
  std::string metric;
  double percent = 0.0;
  std::string row;  ///< Of a study: "loss = RS@k, network = R50-512".
  std::string source;
};

/// A configuration that comes with kith: a training or a study.
struct Recipe {
  std::string file;     ///< Below the folder of recipes: "rsk/sop.yaml".
  std::string summary;  ///< The comment in its first line.
  std::vector<std::string> data;  ///< Names of its data sets.
  /// The first published metric; of a study, its best row.
  std::optional<PublishedNumber> published;
  bool is_study = false;
  int64_t rows = 1;  ///< Combinations of a study, seeds not counted.
};

/// The recipes below a folder, by name. Files in a folder `common` are parts of
/// recipes and left out. DataError if there is no such folder.
std::vector<std::string> recipe_files(const std::string& folder);

/// Reads a recipe. ConfigError if it is not a valid configuration or study.
Recipe read_recipe(const std::string& folder, const std::string& file);

/// The first of some folders that exists; DataError, with all of them, if none
/// does.
std::string first_folder(const std::vector<std::string>& folders);

}  // namespace kith
