#include "kith/data/image_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/system_calls.h"

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
  // Not a recursive iterator, whose error does not say which folder it is of.
  for (std::vector<fs::path> open = {folder}; !open.empty();) {
    const fs::path place = open.back();
    open.pop_back();
    std::error_code error;
    std::error_code unknown;  // who reads that file says what is wrong with it
    for (auto it = open_folder(place, error);
         !error && it != fs::directory_iterator(); it.increment(error)) {
      if (is_hidden(it->path())) continue;
      if (it->is_directory(unknown)) {
        if (!it->is_symlink(unknown)) open.push_back(it->path());
        continue;
      }
      auto& files =
          is_image_file(it->path().string()) ? found.images : found.ignored;
      files.push_back(it->path().string());
    }
    if (error) throw DataError(place.string() + ": " + error.message());
  }
  std::sort(found.images.begin(), found.images.end());
  std::sort(found.ignored.begin(), found.ignored.end());
  return found;
}

std::vector<std::string> sub_folders(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto it = open_folder(folder, error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code unknown;
    if (it->is_directory(unknown) && !is_hidden(it->path())) {
      names.push_back(it->path().filename().string());
    }
  }
  if (error) throw DataError(folder + ": " + error.message());
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
