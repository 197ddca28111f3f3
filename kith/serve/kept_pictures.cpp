#include "kith/serve/kept_pictures.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <unordered_set>

#include "kith/core/file.h"
#include "kith/core/path.h"
#include "kith/core/sha256.h"
#include "kith/image/image_format.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostIdLetters = 100;
constexpr size_t kNameDigits = 16;

bool is_id_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool is_sum(std::string_view text) {
  return text.size() == kNameDigits &&
         text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// The id in "sku-1.0123456789abcdef.jpg"; nothing if it is no such name.
std::optional<std::string_view> id_in(std::string_view name) {
  const size_t end = name.rfind('.');
  if (end == name.npos) return {};
  name = name.substr(0, end);
  const size_t sum = name.rfind('.');
  if (sum == name.npos || !is_sum(name.substr(sum + 1))) return {};
  name = name.substr(0, sum);
  if (!is_item_id(name)) return {};
  return name;
}

}  // namespace

bool is_item_id(std::string_view id) {
  return !id.empty() && id.size() <= kMostIdLetters && id[0] != '.' &&
         std::all_of(id.begin(), id.end(), is_id_letter);
}

KeptPictures::KeptPictures(const std::string& index)
    : folder_(full_path(index).lexically_normal().string() + ".pictures"),
      folder_name_(fs::path(folder_).filename().string()) {}

std::string KeptPictures::path_of(std::string_view id,
                                  std::string_view bytes) const {
  Sha256 sum;
  sum.add(bytes.data(), bytes.size());
  return folder_ + "/" + std::string(id) + "." +
         sum.hex().substr(0, kNameDigits) +
         std::string(image_format(bytes).end);
}

std::optional<std::string_view> KeptPictures::name_of(
    std::string_view path) const {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return {};
  const std::string_view folder = path.substr(0, slash);
  if (!folder.ends_with(folder_name_) ||
      (folder.size() > folder_name_.size() &&
       folder[folder.size() - folder_name_.size() - 1] != '/')) {
    return {};
  }
  return path.substr(slash + 1);
}

std::string_view KeptPictures::id_of(std::string_view path) const {
  const std::optional<std::string_view> name = name_of(path);
  return name ? id_in(*name).value_or(path) : path;
}

bool KeptPictures::is_kept(std::string_view path) const {
  const std::optional<std::string_view> name = name_of(path);
  return name && id_in(*name);
}

std::string KeptPictures::file_of(std::string_view path) const {
  if (!is_kept(path)) return std::string(path);
  return folder_ + "/" + std::string(*name_of(path));
}

/// Several at a time: the disk syncs eight together in little more time than
/// one.
void KeptPictures::keep(const std::vector<File>& files) {
  constexpr size_t kTogether = 8;
  make_folders(folder_);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < files.size(); i = next++) keep_one(files[i]);
  };
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < std::min(files.size(), kTogether); ++i) {
    others.push_back(std::async(std::launch::async, work));
  }
  work();
  for (std::future<void>& other : others) other.get();
}

void KeptPictures::keep_one(const File& file) {
  const int64_t before = path_exists(file.path) ? bytes_of(file.path) : 0;
  write_file_atomically(file.path, file.bytes);
  bytes_ += std::ssize(file.bytes) - before;
}

void KeptPictures::drop(std::string_view path) {
  const std::optional<std::string_view> name = name_of(path);
  if (!name || !id_in(*name)) return;
  const fs::path file = file_of(path);
  std::error_code ignored;
  const auto size = static_cast<int64_t>(fs::file_size(file, ignored));
  if (!ignored && fs::remove(file, ignored)) bytes_ -= size;
}

std::vector<std::string> KeptPictures::count(const StoredIndex& index) {
  std::unordered_set<std::string_view> known;
  for (int64_t i = 0; i < index.count(); ++i) {
    if (index.is_removed(i)) continue;
    if (const auto name = name_of(index.items().path(i))) known.insert(*name);
  }
  bytes_ = 0;
  std::vector<std::string> others;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code none;
    const auto size = static_cast<int64_t>(entry->file_size(none));
    if (!id_in(name) || none) continue;
    bytes_ += size;
    if (!known.contains(name)) others.push_back(entry->path().string());
  }
  std::sort(others.begin(), others.end());
  return others;
}

}  // namespace kith
