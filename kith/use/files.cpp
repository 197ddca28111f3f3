#include "kith/use/files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include <unistd.h>

#include "kith/core/file.h"
#include "kith/core/path.h"

namespace kith {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kScratchEnd = ".scratch";

/// Whether `name` is `start`, the id of a process that is no more, and the end
/// of scratch files.
bool is_left_scratch(std::string_view name, const std::string& start) {
  if (!name.starts_with(start) || !name.ends_with(kScratchEnd)) return false;
  name.remove_prefix(start.size());
  name.remove_suffix(std::min(name.size(), kScratchEnd.size()));
  pid_t id = 0;
  const auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc() || end != name.data() + name.size() || id <= 0) {
    return false;
  }
  return ::kill(id, 0) != 0 && errno == ESRCH;
}

}  // namespace

std::string absolute_path(const std::string& path) {
  std::string text = full_path(path).lexically_normal().string();
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
  make_folders(folder);
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
    : path_(hidden_beside(beside, "." + std::to_string(::getpid()) +
                                      std::string(kScratchEnd))) {
  const std::string start = "." + fs::path(beside).filename().string() + ".";
  std::vector<fs::path> left;
  std::error_code error;
  fs::directory_iterator entry(full_path(beside).parent_path(), error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (is_left_scratch(entry->path().filename().string(), start)) {
      left.push_back(entry->path());
    }
  }
  for (const fs::path& file : left) fs::remove(file, error);
}

ScratchFile::~ScratchFile() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

}  // namespace kith
