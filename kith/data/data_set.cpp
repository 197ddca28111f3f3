#include "kith/data/data_set.h"

#include <filesystem>

#include "kith/core/log.h"
#include "kith/data/decode.h"
#include "kith/data/rotate.h"

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

}  // namespace

Image DataSet::load(int64_t index) const {
  Image image = read(index);
  const int turns = item(index).quarter_turns;
  return turns == 0 ? image : rotate90(image, turns);
}

Image DataSet::read(int64_t index) const {
  return decode_image(item(index).path);
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
  const bool folder = std::filesystem::is_directory(path);
  const bool list_inside =
      folder && std::filesystem::exists(path + "/dataset.csv");
  ConfigNode section = ConfigNode::map();
  section.set("name",
              ConfigNode::text(folder && !list_inside ? "folder" : "csv"));
  section.set("path", ConfigNode::text(path));
  return make_data_set(section);
}

std::unique_ptr<DataSet> make_file_set(const std::vector<std::string>& paths) {
  return std::make_unique<FileSet>(paths);
}

}  // namespace kith
