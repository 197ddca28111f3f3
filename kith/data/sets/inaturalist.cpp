#include <filesystem>
#include <map>

#include "kith/core/error.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/data/image_files.h"
#include "kith/data/item_sources.h"
#include "kith/data/published_sets.h"
#include "kith/io/text_rows.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInatFolder = "Inat_dataset_splits";
constexpr const char* kInatTrainList = "Inaturalist_train_set1.txt";
constexpr const char* kInatTestList = "Inaturalist_test_set1.txt";

class INaturalistReader {
 public:
  explicit INaturalistReader(const INaturalistOptions& options)
      : root_(options.path) {
    require_folder(root_, "Inaturalist_train_set1.txt and train_val2018/");
    ItemSources sources;
    read_list(kInatTrainList, Split::kTrain, sources);
    read_list(kInatTestList, Split::kTest, sources);
    sources.check_once(list_);
    number_classes();
    require_folder(fs::path(list_.items.front().path).parent_path().string(),
                   "pictures of iNaturalist");
  }

  ImageList take() { return std::move(list_); }

 private:
  /// One path a line: "train_val2018/Aves/2716/HASH.jpg".
  void read_list(const std::string& name, Split split, ItemSources& sources) {
    const std::string apart = root_ + "/" + kInatFolder + "/" + name;
    TextRows rows(path_exists(apart) ? apart : root_ + "/" + name);
    const size_t before = list_.items.size();
    while (rows.next()) {
      rows.expect(1, "<path>");
      const fs::path path = rows.words()[0];
      const fs::path species = path.parent_path().filename();
      const fs::path group = path.parent_path().parent_path().filename();
      if (path.filename().empty() || species.empty() || group.empty()) {
        throw DataError(rows.where() + ": " + quote(rows.words()[0]) +
                        ", expected a path such as "
                        "train_val2018/Aves/2716/0a1b.jpg");
      }
      Item item;
      item.path = root_ + "/" + rows.words()[0];
      item.category = group.string();
      item.split = split;
      const auto [entry, added] =
          classes_.emplace(item.category + "/" + species.string(),
                           static_cast<int64_t>(classes_.size()));
      item.label = entry->second;  // until number_classes()
      list_.items.push_back(std::move(item));
      sources.add(rows.path(), rows.line());
    }
    if (list_.items.size() == before) {
      throw DataError(rows.path() + ": the list has no images");
    }
  }

  /// From the order in which classes were met to that of their names.
  void number_classes() {
    std::vector<int64_t> label_of(classes_.size());
    int64_t label = 0;
    for (const auto& [name, met] : classes_) {
      label_of[static_cast<size_t>(met)] = label;
      list_.class_names[label++] = name;
    }
    for (Item& item : list_.items) {
      item.label = label_of[static_cast<size_t>(item.label)];
    }
  }

  std::string root_;
  std::map<std::string, int64_t> classes_;  ///< In which order they were met.
  ImageList list_;
};

}  // namespace

void INaturalistOptions::describe(OptionSet& set) {
  set.add("path", path,
          "The folder with train_val2018/ and, in Inat_dataset_splits/ or "
          "beside it, Inaturalist_train_set1.txt and "
          "Inaturalist_test_set1.txt.")
      .not_empty();
}

INaturalistDataSet::INaturalistDataSet(Options options)
    : FileDataSet(
          kTraits,
          INaturalistReader(checked_with_path(options, "inaturalist")).take()) {
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "inaturalist", INaturalistDataSet);

}  // namespace kith
