#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "kith/core/error.h"
#include "kith/core/json.h"
#include "kith/core/log.h"
#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/data/file_sets.h"
#include "kith/data/image_files.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxPicture = uint64_t{1} << 30;
constexpr uint64_t kMaxLabel = uint64_t{1} << 20;  // with all else in a JSON

struct Shard {
  std::string path;
  std::optional<Split> split;
};

/// The split that a name begins with: "train-000017" is of train.
std::optional<Split> split_of_name(const std::string& name) {
  std::string word;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) break;
    word += c;
  }
  try {
    return parse_split(word, "");
  } catch (const DataError&) {
    return std::nullopt;
  }
}

void add_shards(const std::string& folder, std::optional<Split> split,
                std::vector<Shard>& shards) {
  for (const std::string& name : names_in(folder)) {
    if (name.starts_with('.') || !name.ends_with(".tar")) continue;
    shards.push_back(
        {folder + "/" + name, split ? split : split_of_name(name)});
  }
}

/// Those of a folder and of its folders that are called as a split, in order;
/// or the only one.
std::vector<Shard> find_shards(const std::string& path) {
  if (!is_folder(path)) {
    return {{path, split_of_name(fs::path(path).filename().string())}};
  }
  std::vector<Shard> shards;
  add_shards(path, {}, shards);
  for (const std::string& name : sub_folders(path)) {
    const std::optional<Split> split = split_of_name(name);
    if (split) add_shards(path + "/" + name, split, shards);
  }
  if (shards.empty()) {
    throw DataError(path +
                    ": no shards found; expected *.tar there, or in its "
                    "folders train and test");
  }
  return shards;
}

/// A file of a sample: "a/b.seg.png" is "seg.png" of the sample "a/b".
struct SampleFile {
  std::string_view key;
  std::string extension;
};

SampleFile sample_file(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = std::min(name.find('.', base), name.size());
  SampleFile file{name.substr(0, dot),
                  std::string(name.substr(std::min(dot + 1, name.size())))};
  for (char& c : file.extension) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return file;
}

/// What the option `label` names: a file of the sample, and a key of it if it
/// is JSON.
struct LabelPlace {
  explicit LabelPlace(const std::string& label)
      : extension(label.substr(0, label.find('.'))) {
    if (extension != label) field = label.substr(extension.size() + 1);
    if (field.empty() != (extension != "json")) {
      throw ConfigError(
          "'webdataset.label' is " + quote(label) +
          "; expected the name of a file with the class alone, such as cls, or "
          "json.KEY with the key that has it");
    }
  }

  std::string extension;
  std::string field;
};

class WebDatasetReader {
 public:
  explicit WebDatasetReader(const WebDatasetOptions& options)
      : label_(options.label), found_(find_shards(options.path)) {
    for (const Shard& shard : found_) read_shard(shard);
    if (list.items.empty()) {
      throw DataError(options.path + ": the shards have no pictures");
    }
    if (without_picture_ > 0) {
      log_warning(first_without_ + ": no picture; " +
                  std::to_string(without_picture_) +
                  " such samples are left out");
    }
    set_labels();
    set_splits(options.test_fraction);
  }

  ImageList list;
  std::vector<std::string> shards;
  std::vector<std::pair<size_t, TarEntry>> pictures;

 private:
  /// The files of a sample that count.
  struct Sample {
    std::string key;
    const TarEntry* picture = nullptr;
    const TarEntry* label = nullptr;
    std::set<std::string> extensions = {};
  };

  void read_shard(const Shard& shard) {
    const FileReader archive(shard.path);
    const std::vector<TarEntry> entries = read_tar(archive);
    std::set<std::string> keys;
    Sample sample;
    for (const TarEntry& entry : entries) {
      if (fs::path(entry.name).filename().string().starts_with('.')) continue;
      const SampleFile file = sample_file(entry.name);
      if (file.key != sample.key || sample.extensions.empty()) {
        add_sample(archive, shard, sample);
        sample = {std::string(file.key)};
        if (!keys.insert(sample.key).second) {
          throw DataError(shard.path + ": the sample " + quote(sample.key) +
                          " is there twice, or its files lie apart");
        }
      }
      add_file(shard, entry, file.extension, sample);
    }
    add_sample(archive, shard, sample);
    shards.push_back(shard.path);
  }

  void add_file(const Shard& shard, const TarEntry& entry,
                const std::string& extension, Sample& sample) {
    if (!sample.extensions.insert(extension).second) {
      throw DataError(shard.path + ": " + quote(entry.name) +
                      " is there twice");
    }
    if (extension == label_.extension) sample.label = &entry;
    if (!is_image_file("x." + extension) ||
        extension.find('.') != std::string::npos) {
      return;
    }
    if (sample.picture != nullptr) {
      throw DataError(shard.path + ": the sample " + quote(sample.key) +
                      " has two pictures, " + quote(sample.picture->name) +
                      " and " + quote(entry.name));
    }
    sample.picture = &entry;
  }

  void add_sample(const FileReader& archive, const Shard& shard,
                  const Sample& sample) {
    if (sample.extensions.empty()) return;  // before the first
    const std::string name = shard.path + "/" + sample.key;
    if (sample.picture == nullptr) {
      if (without_picture_++ == 0) first_without_ = name;
      return;
    }
    if (sample.label == nullptr) {
      throw DataError(
          name + ": no file ." + label_.extension + " with the class; there " +
          "are " + join({sample.extensions.begin(), sample.extensions.end()}) +
          ": say which has it with 'data.label', such as cls or json.label");
    }
    classes_.push_back(read_label(archive, *sample.label));
    Item item;
    item.path = shard.path + "/" + sample.picture->name;
    item.place = static_cast<int64_t>(pictures.size());
    item.split = shard.split.value_or(Split::kTrain);
    list.items.push_back(std::move(item));
    pictures.emplace_back(shards.size(), *sample.picture);
  }

  std::string read_label(const FileReader& archive, const TarEntry& entry) {
    const std::string where = archive.path() + "/" + entry.name;
    std::string text = read_tar_entry(archive, entry, kMaxLabel);
    if (!label_.field.empty()) text = json_label(text, where);
    const auto is_space = [](char c) {
      return std::isspace(static_cast<unsigned char>(c)) != 0;
    };
    while (!text.empty() && is_space(text.back())) text.pop_back();
    text.erase(text.begin(),
               std::find_if_not(text.begin(), text.end(), is_space));
    if (text.empty()) throw DataError(where + ": the class is empty");
    if (!is_utf8(text) || text.size() > 1000) {
      throw DataError(where + ": " + quote(text) + " is no class");
    }
    if (all_numbers_ && !is_integer(text)) all_numbers_ = false;
    return text;
  }

  std::string json_label(const std::string& text, const std::string& where) {
    nlohmann::ordered_json json;
    try {
      json = parse_json(text);
    } catch (const nlohmann::ordered_json::exception& error) {
      throw DataError(where + ": not JSON: " + error.what());
    }
    if (!json.is_object() || !json.contains(label_.field)) {
      throw DataError(where + ": no key " + quote(label_.field) +
                      ", which 'data.label' names");
    }
    const nlohmann::ordered_json& value = json.at(label_.field);
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_integer()) return value.dump();
    throw DataError(where + ": " + quote(label_.field) + " is " +
                    quote(value.dump()) +
                    "; expected a class, an integer or a text");
  }

  static bool is_integer(const std::string& text) {
    try {
      parse_integer(text, "", "label");
      return true;
    } catch (const DataError&) {
      return false;
    }
  }

  /// Integers are labels; if one is none, all are names.
  void set_labels() {
    if (!all_numbers_) return label_by_name(list, classes_);
    for (size_t i = 0; i < classes_.size(); ++i) {
      list.items[i].label = parse_integer(classes_[i], "", "label");
    }
  }

  void set_splits(double test_fraction) {
    const auto has_split = [](const Shard& shard) {
      return shard.split.has_value();
    };
    if (std::all_of(found_.begin(), found_.end(), has_split)) return;
    const auto with = std::find_if(found_.begin(), found_.end(), has_split);
    if (with != found_.end()) {
      const auto without =
          std::find_if_not(found_.begin(), found_.end(), has_split);
      throw DataError(without->path + ": of which split is it? " + with->path +
                      " says it with its name or folder: train, test, val or " +
                      "validation");
    }
    std::set<int64_t> labels;
    for (const Item& item : list.items) labels.insert(item.label);
    const auto train =
        std::llround(static_cast<double>(labels.size()) * (1 - test_fraction));
    const std::set<int64_t> train_labels(labels.begin(),
                                         std::next(labels.begin(), train));
    for (Item& item : list.items) {
      if (!train_labels.contains(item.label)) item.split = Split::kTest;
    }
  }

  LabelPlace label_;
  std::vector<Shard> found_;
  std::vector<std::string> classes_;  ///< By item.
  bool all_numbers_ = true;
  int64_t without_picture_ = 0;
  std::string first_without_;
};

}  // namespace

void WebDatasetOptions::describe(OptionSet& set) {
  set.add("path", path,
          "A folder of shards (*.tar), or one of them. Their names (train-*, "
          "test-*, val-*) or folders (train, test, validation) say the split.")
      .not_empty();
  set.add("label", label,
          "The file of a sample with its class, an integer or a name: cls is "
          "0001.cls beside 0001.jpg. json.KEY: the key KEY of its .json.")
      .not_empty();
  set.add("test_fraction", test_fraction,
          "If no shard says its split: this share of the classes, the last in "
          "their order, is the test split.")
      .range(0, 1);
}

WebDataset::WebDataset(Options options) : FileDataSet(kTraits) {
  WebDatasetReader reader(checked_with_path(options, "webdataset"));
  list_ = std::move(reader.list);
  shards_ = std::move(reader.shards);
  for (auto& [shard, picture] : reader.pictures) {
    places_.push_back({shard, std::move(picture)});
  }
  made_of(options);
}

std::optional<std::string> WebDataset::read_encoded(int64_t index) const {
  const Place& place = places_.at(static_cast<size_t>(item(index).place));
  return read_tar_entry(FileReader(shards_[place.shard]), place.picture,
                        kMaxPicture);
}

KITH_REGISTER(data_set_registry(), "webdataset", WebDataset);

}  // namespace kith
