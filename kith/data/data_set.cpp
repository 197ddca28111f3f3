#include "kith/data/data_set.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <typeinfo>
#include <utility>

#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/data/image_files.h"
#include "kith/image/decode.h"
#include "kith/image/orientation.h"

namespace kith {
namespace {

/// The traits of a name that is registered, else those of any data set.
DataSetTraits traits_of(const std::string& name) {
  if (!data_set_registry().contains(name)) return {};
  return data_set_registry().at(name, "").traits;
}

constexpr const char* kOnBroken = "on_broken";

std::span<const uint8_t> as_bytes(const std::string& file) {
  return {reinterpret_cast<const uint8_t*>(file.data()), file.size()};
}

/// What is of the data set alone, and what all have.
std::pair<ConfigNode, DataOptions> split_section(const ConfigNode& section) {
  ConfigNode own = section;
  ConfigNode common = ConfigNode::map();
  if (const ConfigNode* node = section.find(kOnBroken)) {
    common.set(kOnBroken, *node);
    std::erase_if(own.entries,
                  [](const auto& entry) { return entry.first == kOnBroken; });
  }
  return {std::move(own), read_options<DataOptions>(common, "data")};
}

/// Name of the data set for what lies at `path`.
std::string recognise(const std::string& path) {
  namespace fs = std::filesystem;
  if (!is_folder(path)) {
    const std::string file = fs::path(path).filename().string();
    return file == "df.csv" || file == "df_with_bboxes.csv" ? "oml" : "csv";
  }
  // "train/*.tar": any file with this end. Beside folders it is what they were
  // unpacked from.
  const auto has = [&](const std::string& file) {
    const size_t star = file.find('*');
    if (star == std::string::npos) return path_exists(path + "/" + file);
    const std::string folder = path + "/" + file.substr(0, star);
    if (!is_folder(folder) || !sub_folders(folder).empty()) return false;
    const std::vector<std::string> names = names_in(folder);
    return std::any_of(names.begin(), names.end(), [&](const auto& name) {
      return name.ends_with(file.substr(star + 1));
    });
  };
  if (has("dataset.csv")) return "csv";
  std::vector<std::string> found;
  for (const auto& [name, entry] : data_set_registry().entries()) {
    const auto fits = [&](const auto& layout) {
      return layout[0] != nullptr &&
             std::all_of(std::begin(layout), std::end(layout),
                         [&](const char* file) { return !file || has(file); });
    };
    const auto& layouts = entry.traits.layouts;
    if (std::any_of(std::begin(layouts), std::end(layouts), fits)) {
      found.push_back(name);
    }
  }
  if (found.size() > 1) {
    throw ConfigError(path + " holds several data sets: " + join(found) +
                      "; say which in a configuration, such as 'data: {name: " +
                      found.front() + ", path: " + path + "}'");
  }
  return found.empty() ? "folder" : found.front();
}

}  // namespace

void DataOptions::describe(OptionSet& set) {
  set.add(kOnBroken, on_broken,
          "An image that cannot be read: stop with an error, or skip it. To "
          "skip, every image is read once before the first is used; what is "
          "left out is logged, counted in metrics.json and listed in "
          "left_out.csv.")
      .choices({"stop", "skip"});
}

BrokenImageError::BrokenImageError(const std::string& problem)
    : DataError(problem +
                "; check the images of the data set, or leave out those that "
                "cannot be read ('data.on_broken: skip')"),
      problem_(problem) {}

ConfigNode complete_data_section(const ConfigNode& section) {
  const auto [own, common] = split_section(section);
  ConfigNode all = data_set_registry().complete(own, "data");
  if (common.on_broken != DataOptions().on_broken) {
    all.set(kOnBroken, ConfigNode::text(common.on_broken));
  }
  return all;
}

std::string usual_protocol(const std::string& data_set) {
  return traits_of(data_set).protocol;
}

std::string usual_colour(const std::string& data_set) {
  return traits_of(data_set).colour;
}

Image DataSet::load(int64_t index) const { return *load_unless(index, {}); }

std::optional<Image> DataSet::load_unless(int64_t index,
                                          const TakeFile& take) const {
  const auto count = static_cast<int64_t>(list_.items.size());
  if (index < 0 || index >= count) {
    throw ConfigError("there is no image " + std::to_string(index) +
                      " in this data set: it has " + std::to_string(count) +
                      " images, counted from 0");
  }
  const int turns = item(index).quarter_turns;
  Image image;
  try {
    if (take && !item(index).box && turns == 0) {
      if (const std::optional<std::string> file = read_encoded(index)) {
        const std::string& name = item(index).path;
        if (take(as_bytes(*file), name)) return {};
        return decode_image(as_bytes(*file), name);
      }
    }
    StoredImage stored = read(index);
    if (const std::optional<Box>& box = item(index).box) {
      stored.pixels = crop_to_box(stored.pixels, *box,
                                  item(index).path + " (image " +
                                      std::to_string(index) + " of the list)");
    }
    image = std::move(stored).upright();
  } catch (const DataError& error) {
    throw BrokenImageError(error.what());
  }
  if (turns == 0) return image;
  return rotate90(image, turns);
}

void DataSet::leave_out(std::vector<BrokenImage> images) {
  KITH_ASSERT(left_out_.empty());
  namespace fs = std::filesystem;
  std::vector<int64_t> positions;
  for (const BrokenImage& image : images) {
    const bool is_there =
        image.position >= 0 &&
        image.position < static_cast<int64_t>(list_.items.size());
    // By the name alone: the data may have been moved.
    if (!is_there || fs::path(item(image.position).path).filename() !=
                         fs::path(image.path).filename()) {
      throw DataError(image.path + ": was left out as image " +
                      std::to_string(image.position) +
                      " of the data set, which now has another there: the data "
                      "were changed since");
    }
    positions.push_back(image.position);
  }
  leave_out_items(list_, positions);
  left_out_ = std::move(images);
}

StoredImage DataSet::read(int64_t index) const {
  return decode_stored(item(index).path);
}

std::optional<std::string> DataSet::read_encoded(int64_t) const { return {}; }

StoredImage FileDataSet::read(int64_t index) const {
  const std::optional<std::string> file = read_encoded(index);
  return decode_stored(as_bytes(*file), item(index).path);
}

std::optional<std::string> FileDataSet::read_encoded(int64_t index) const {
  return read_image_file(item(index).path);
}

ConfigNode DataSet::section() const {
  const std::string name = data_set_registry().name_of(typeid(*this));
  ConfigNode section = ConfigNode::map();
  section.set("name", ConfigNode::text(name.empty() ? "own" : name));
  if (name.empty() || !options_.is_map()) {
    section.set("made", ConfigNode::text("in C++"));
  } else {
    merge_config(section, options_);
  }
  if (skips_broken_) section.set(kOnBroken, ConfigNode::text("skip"));
  return section;
}

DataSetRegistry& data_set_registry() {
  static DataSetRegistry registry("data set");
  return registry;
}

std::unique_ptr<DataSet> make_data_set(const ConfigNode& section) {
  const auto [own, common] = split_section(section);
  std::unique_ptr<DataSet> set = data_set_registry().make(own, "data");
  set->skip_broken(common.on_broken == "skip");
  if (!set->options_.is_map()) {  // a user's class, registered
    const std::string& name = section.find("name")->scalar;
    set->options_ = data_set_registry().at(name, "").complete(own, "data");
  }
  const std::vector<int64_t> shared = shared_classes(set->list());
  if (!shared.empty()) {
    log_warning(std::to_string(shared.size()) +
                " classes are both in the training and in the test split "
                "(first: " +
                set->list().class_name(shared.front()) +
                "); retrieval results on classes seen in training are not "
                "comparable with published ones");
  }
  return set;
}

std::unique_ptr<DataSet> open_data_set(const std::string& path) {
  ConfigNode section = ConfigNode::map();
  section.set("name", ConfigNode::text(recognise(path)));
  section.set("path", ConfigNode::text(path));
  return make_data_set(section);
}

std::unique_ptr<DataSet> make_file_set(const std::vector<std::string>& paths) {
  ImageList list;
  for (const std::string& path : paths) {
    list.items.push_back({.path = path, .split = Split::kTest});
  }
  return std::make_unique<ListDataSet>(std::move(list));
}

}  // namespace kith
