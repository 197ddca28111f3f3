#include "kith/data/data_set.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "kith/core/log.h"
#include "kith/image/decode.h"
#include "kith/image/rotate.h"

namespace kith {
namespace {

class FileSet final : public DataSet {
 public:
  explicit FileSet(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      Item item;
      item.path = path;
      item.split = Split::kTest;
      list_.items.push_back(std::move(item));
    }
  }
};

/// A data set's name and what lies in its folder.
struct Layout {
  std::string name;
  std::vector<std::string> files;
};

std::vector<Layout>& layouts() {
  static std::vector<Layout> all;
  return all;
}

std::map<std::string, std::string>& usual_protocols() {
  static std::map<std::string, std::string> all;
  return all;
}

/// Name of the data set for what lies at `path`.
std::string recognise(const std::string& path) {
  namespace fs = std::filesystem;
  if (!fs::is_directory(path)) {
    const std::string file = fs::path(path).filename().string();
    return file == "df.csv" || file == "df_with_bboxes.csv" ? "oml" : "csv";
  }
  const auto has = [&](const std::string& file) {
    return fs::exists(path + "/" + file);
  };
  if (has("dataset.csv")) return "csv";
  std::set<std::string> found;
  for (const Layout& layout : layouts()) {
    if (std::all_of(layout.files.begin(), layout.files.end(), has)) {
      found.insert(layout.name);
    }
  }
  if (found.size() > 1) {
    throw ConfigError(path + " holds several data sets: " +
                      join({found.begin(), found.end()}) +
                      "; say which in a configuration, such as 'data: {name: " +
                      *found.begin() + ", path: " + path + "}'");
  }
  return found.empty() ? "folder" : *found.begin();
}

}  // namespace

bool add_layout(const std::string& name, std::vector<std::string> files) {
  layouts().push_back({name, std::move(files)});
  return true;
}

bool add_usual_protocol(const std::string& name, const std::string& protocol) {
  return usual_protocols().emplace(name, protocol).second;
}

std::string usual_protocol(const std::string& data_set) {
  const auto found = usual_protocols().find(data_set);
  return found == usual_protocols().end() ? "standard" : found->second;
}

Image DataSet::load(int64_t index) const {
  StoredImage stored = read(index);
  if (const std::optional<Box>& box = item(index).box) {
    stored.pixels = crop_to_box(stored.pixels, *box,
                                item(index).path + " (image " +
                                    std::to_string(index) + " of the list)");
  }
  Image image = std::move(stored).upright();
  const int turns = item(index).quarter_turns;
  if (turns == 0) return image;
  return rotate90(image, turns);
}

StoredImage DataSet::read(int64_t index) const {
  return decode_stored(item(index).path);
}

DataSetRegistry& data_set_registry() {
  static DataSetRegistry registry("data set");
  return registry;
}

std::unique_ptr<DataSet> make_data_set(const ConfigNode& section) {
  std::unique_ptr<DataSet> set = data_set_registry().make(section, "data");
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
  return std::make_unique<FileSet>(paths);
}

}  // namespace kith
