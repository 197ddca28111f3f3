#include "cli/files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include <unistd.h>

#include "kith/core/error.h"
#include "kith/core/file.h"

namespace kith {

namespace fs = std::filesystem;

std::string absolute_path(const std::string& path) {
  std::string text = fs::absolute(path).lexically_normal().string();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();  // "run/"
  return text;
}

bool is_there(const std::string& path) {
  std::error_code none;
  return fs::exists(path, none);
}

std::string hidden_beside(const std::string& path, const std::string& end) {
  fs::path hidden = fs::path(path).parent_path() / ".";
  hidden += fs::path(path).filename();
  hidden += end;
  return hidden.string();
}

void make_folder_of(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw RunError(folder.string() +
                   ": cannot make the folder: " + error.message());
  }
}

std::unique_ptr<FileLock> lock_index(const std::string& index) {
  auto lock = std::make_unique<FileLock>(hidden_beside(index, ".lock"));
  if (lock->try_lock()) return lock;
  throw RunError(
      index + " is being made or changed by another kith index; wait for it");
}

std::vector<std::string> read_lines(const std::string& path) {
  constexpr uint64_t kMost = uint64_t{1} << 33;
  const std::string text = read_file(path, kMost);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    size_t last = end;
    if (last > at && text[last - 1] == '\r') --last;
    lines.push_back(text.substr(at, last - at));
    at = end + 1;
  }
  return lines;
}

ScratchFile::ScratchFile(const std::string& beside)
    : path_(hidden_beside(beside,
                          "." + std::to_string(::getpid()) + ".scratch")) {}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

}  // namespace kith
