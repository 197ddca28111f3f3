#include "kith/core/path.h"

#include <algorithm>
#include <system_error>

#include "kith/core/error.h"
#include "kith/core/system_calls.h"

namespace kith {

namespace fs = std::filesystem;

namespace {

/// That there is nothing is an answer and no error.
fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none) {
    throw DataError(path.string() + ": cannot be read: " + error.message());
  }
  return status;
}

}  // namespace

bool path_exists(const fs::path& path) { return fs::exists(status_of(path)); }

bool is_folder(const fs::path& path) {
  return fs::is_directory(status_of(path));
}

bool is_file(const fs::path& path) {
  return fs::is_regular_file(status_of(path));
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry = open_folder(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) {
    throw DataError(folder.string() +
                    ": cannot read the folder: " + error.message());
  }
  std::sort(names.begin(), names.end());
  return names;
}

int64_t bytes_of(const fs::path& file) {
  std::error_code error;
  const uintmax_t size = fs::file_size(file, error);
  if (error) {
    throw DataError(file.string() + ": cannot be read: " + error.message());
  }
  return static_cast<int64_t>(size);
}

fs::path full_path(const fs::path& path) {
  std::error_code error;
  const fs::path full = fs::absolute(path, error);
  if (error) {
    throw RunError(path.string() +
                   ": no path from the root: " + error.message());
  }
  return full;
}

fs::path present_folder() {
  std::error_code error;
  fs::path folder = fs::current_path(error);
  if (error) {
    throw RunError("the present folder cannot be found: " + error.message());
  }
  return folder;
}

bool is_below(const fs::path& file, const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  if (error) return false;
  const fs::path real_folder = fs::canonical(folder, error);
  if (error) return false;
  const auto [end, other] = std::mismatch(
      real_folder.begin(), real_folder.end(), real.begin(), real.end());
  return end == real_folder.end() && other != real.end();
}

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw RunError(folder.string() +
                   ": cannot make the folder: " + error.message());
  }
}

void remove_file(const fs::path& file) {
  std::error_code error;
  fs::remove(file, error);
  if (error) {
    throw RunError(file.string() + ": cannot be removed: " + error.message());
  }
}

}  // namespace kith
