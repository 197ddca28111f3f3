#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/options.h"

namespace kith {

struct ImageFiles {
  /// By extension, sorted: of all formats that decode_image() may know. One
  /// that this build cannot read is an error when it is read, and not missing.
  std::vector<std::string> images;
  std::vector<std::string> ignored;  ///< Other files, sorted.
};

/// Whether a file is taken for an image, by its extension.
bool is_image_file(const std::string& path);

/// All image files below a folder. Hidden files ("._x.jpg") are skipped; links
/// to folders are not followed. Throws DataError if the folder is unreadable.
ImageFiles find_image_files(const std::string& folder);

/// Names of the folders directly in a folder, sorted, hidden ones left out.
std::vector<std::string> sub_folders(const std::string& folder);

/// DataError if `folder` is not a folder; `what` says what it should hold:
/// "PATH: no such folder; expected WHAT there".
void require_folder(const std::string& folder, const std::string& what);

/// The options of the data set `name` if they are allowed and have a `path`;
/// ConfigError if not.
template <class T>
T checked_with_path(T options, const std::string& name) {
  if (options.path.empty()) throw ConfigError("'" + name + ".path' is missing");
  return checked(std::move(options), name);
}

}  // namespace kith
