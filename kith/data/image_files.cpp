#include "kith/data/image_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "kith/core/error.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

}  // namespace

bool is_image_file(const std::string& path) {
  std::string extension = fs::path(path).extension().string();
  for (char& c : extension) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  constexpr std::string_view kExtensions[] = {".jpg", ".jpeg", ".png", ".bmp",
                                              ".gif", ".webp", ".tif", ".tiff"};
  return std::find(std::begin(kExtensions), std::end(kExtensions), extension) !=
         std::end(kExtensions);
}

ImageFiles find_image_files(const std::string& folder) {
  ImageFiles found;
  try {
    for (auto it = fs::recursive_directory_iterator(folder);
         it != fs::recursive_directory_iterator(); ++it) {
      if (is_hidden(it->path())) {
        it.disable_recursion_pending();
      } else if (!it->is_directory()) {
        auto& files =
            is_image_file(it->path().string()) ? found.images : found.ignored;
        files.push_back(it->path().string());
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw DataError(folder + ": " + error.code().message());
  }
  std::sort(found.images.begin(), found.images.end());
  std::sort(found.ignored.begin(), found.ignored.end());
  return found;
}

std::vector<std::string> sub_folders(const std::string& folder) {
  std::vector<std::string> names;
  try {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_directory() && !is_hidden(entry.path())) {
        names.push_back(entry.path().filename().string());
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw DataError(folder + ": " + error.code().message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void require_folder(const std::string& folder, const std::string& what) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw DataError(folder + ": no such folder; expected " + what + " there");
  }
}

}  // namespace kith
