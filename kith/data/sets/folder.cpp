#include <algorithm>
#include <cmath>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/data/file_sets.h"
#include "kith/data/image_files.h"

namespace kith {
namespace {

class FolderReader {
 public:
  explicit FolderReader(const FolderOptions& options) {
    if (!is_folder(options.path)) {
      throw DataError(options.path + ": no such folder");
    }
    const std::vector<std::string> names = sub_folders(options.path);
    const bool has_splits = std::count(names.begin(), names.end(), "train") ||
                            std::count(names.begin(), names.end(), "test");
    if (has_splits) {
      for (const std::string& name : names) {
        const std::string folder = options.path + "/" + name;
        add_classes(folder, sub_folders(folder), parse_split(name, folder));
      }
    } else {
      const auto train = static_cast<size_t>(std::llround(
          static_cast<double>(names.size()) * (1 - options.test_fraction)));
      const auto middle = names.begin() + static_cast<std::ptrdiff_t>(train);
      add_classes(options.path, {names.begin(), middle}, Split::kTrain);
      add_classes(options.path, {middle, names.end()}, Split::kTest);
    }
    label_by_name(list_, class_of_item_);
    if (list_.items.empty()) {
      throw DataError(options.path + ": no images found; expected " +
                      options.path + "/<class>/<image>");
    }
    if (options.rotate_classes) add_rotated_classes(list_);
  }

  ImageList take() { return std::move(list_); }

 private:
  void add_classes(const std::string& folder,
                   const std::vector<std::string>& names, Split split) {
    for (const std::string& name : names) {
      const ImageFiles files = find_image_files(folder + "/" + name);
      if (!files.ignored.empty()) {
        log_warning(folder + "/" + name + ": " +
                    std::to_string(files.ignored.size()) +
                    " files are not images and are left out (first: " +
                    files.ignored.front() + ")");
      }
      if (files.images.empty()) {
        log_warning(folder + "/" + name + ": a class without images");
      }
      for (const std::string& path : files.images) {
        Item item;
        item.path = path;
        item.split = split;
        list_.items.push_back(std::move(item));
        class_of_item_.push_back(name);
      }
    }
  }

  std::vector<std::string> class_of_item_;
  ImageList list_;
};

}  // namespace

void FolderOptions::describe(OptionSet& set) {
  set.add("path", path,
          "Folder of folders: path/<class>/*, or "
          "path/{train,test,validation}/<class>/*.")
      .not_empty();
  set.add("test_fraction", test_fraction,
          "Without train and test folders: this share of the classes, the "
          "last in name order, is the test split.")
      .range(0, 1);
  set.add("rotate_classes", rotate_classes,
          "Rotations by 90, 180 and 270 degrees of a training class are "
          "classes of their own.");
}

FolderDataSet::FolderDataSet(Options options)
    : FileDataSet({},
                  FolderReader(checked_with_path(options, "folder")).take()) {
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "folder", FolderDataSet);

}  // namespace kith
