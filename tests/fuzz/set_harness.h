#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kith/core/config.h"
#include "kith/data/data_set.h"
#include "tests/fuzz/harness.h"
#include "tests/support/temp_dir.h"

namespace kith {

/// A data set in a folder. The fuzzer changes its lists, which stand in one
/// input with kListEnd between them; the rest is as it is.
struct SetFolder {
  /// Of the `data:` section, without the path: "name: cub200".
  std::string section;
  /// Path and contents.
  std::vector<std::pair<std::string, std::string>> lists;
  std::vector<std::pair<std::string, std::string>> others = {};
  std::vector<std::string> folders = {};
};

/// No list has it, and a mutation seldom makes one.
inline constexpr char kListEnd = '\x1e';

/// The folder on a disk. Its lists are written when they change only.
class SetOnDisk {
 public:
  explicit SetOnDisk(const SetFolder& set) : set_(set) {
    for (const std::string& folder : set.folders) {
      std::filesystem::create_directories(dir_.file(folder));
    }
    for (const auto& files : {set.others, set.lists}) {
      for (const auto& [path, contents] : files) {
        std::filesystem::create_directories(
            std::filesystem::path(dir_.file(path)).parent_path());
        dir_.write(path, contents);
      }
    }
    for (const auto& [path, contents] : set.lists) lists_.push_back(contents);
    section_ = parse_config(
        "{" + set.section + ", path: '" + dir_.path() + "'}", "a set");
  }

  void write(std::string_view bytes) {
    for (size_t i = 0; i < lists_.size(); ++i) {
      const bool is_last = i + 1 == lists_.size();
      const size_t end = is_last ? bytes.npos : bytes.find(kListEnd);
      const std::string_view list = bytes.substr(0, end);
      if (lists_[i] != list) dir_.write(set_.lists[i].first, list);
      lists_[i] = list;
      bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
    }
  }

  const ConfigNode& section() const { return section_; }

 private:
  const SetFolder& set_;
  TempDir dir_;
  std::vector<std::string> lists_;  ///< As they are.
  ConfigNode section_;
};

inline void read_set(const SetFolder& set, std::string_view bytes) {
  // One harness is run at a time.
  static std::unique_ptr<SetOnDisk> folder;
  static const SetFolder* made = nullptr;
  if (made != &set) folder = std::make_unique<SetOnDisk>(set);
  made = &set;
  folder->write(bytes);
  summarise(make_data_set(folder->section())->list(), Split::kTrain);
}

inline std::vector<std::string> seeds_of(const SetFolder& set) {
  std::string seed;
  for (const auto& [path, contents] : set.lists) {
    if (!seed.empty()) seed += kListEnd;
    seed += contents;
  }
  return {seed};
}

/// The harness of a set, which must live as long.
inline Harness set_harness(const char* name, const SetFolder& set,
                           std::vector<std::string> words) {
  if (set.lists.size() > 1) words.emplace_back(1, kListEnd);
  return {.name = name,
          .read = [&set](std::string_view bytes) { read_set(set, bytes); },
          .seeds = [&set] { return seeds_of(set); },
          .words = std::move(words)};
}

}  // namespace kith
