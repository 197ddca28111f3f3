#include <cmath>
#include <filesystem>
#include <map>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/quote.h"
#include "kith/data/image_files.h"
#include "kith/data/published_sets.h"
#include "kith/io/csv.h"

namespace kith {
namespace {

constexpr int64_t kBirdTrainClasses = 100;

class Cub200Reader {
 public:
  explicit Cub200Reader(const Cub200Options& options) : root_(options.path) {
    require_folder(root_, "images.txt and images/ of CUB_200_2011");
    require_folder(root_ + "/images", "the pictures of CUB_200_2011");
    read_classes();
    read_images();
    read_labels();
    if (options.crop_boxes) read_boxes();
  }

  ImageList take() { return std::move(list_); }

 private:
  /// Rows "<id> ...", no header; by id, each once.
  struct Table {
    CsvTable csv;
    std::map<int64_t, const CsvRow*> by_id;

    std::string where(const CsvRow& row) const { return csv.where(row); }
  };

  Table read_table(const std::string& file, size_t columns) const {
    Table table = {read_csv(root_ + "/" + file, {' ', false}), {}};
    for (const CsvRow& row : table.csv.rows()) {
      const std::string where = table.where(row);
      if (row.fields.size() != columns) {
        throw DataError(where + ": expected " + std::to_string(columns) +
                        " columns between single spaces, got " +
                        std::to_string(row.fields.size()));
      }
      const int64_t id = parse_integer(row.fields[0], where, "id");
      if (!table.by_id.emplace(id, &row).second) {
        throw DataError(where + ": id " + std::to_string(id) +
                        " is there twice");
      }
    }
    if (table.by_id.empty()) throw DataError(table.csv.path() + ": no rows");
    return table;
  }

  void read_classes() {
    const Table table = read_table("classes.txt", 2);
    for (const auto& [id, row] : table.by_id) {
      if (id < 1 || id > 2 * kBirdTrainClasses) {
        throw DataError(table.where(*row) + ": class " + std::to_string(id) +
                        " is not in 1 to 200");
      }
      list_.class_names[id] = row->fields[1];
    }
  }

  /// In the order of the ids. "._x.jpg" is no picture but what archivers on a
  /// Mac leave behind.
  void read_images() {
    const Table table = read_table("images.txt", 2);
    std::map<std::string, int64_t> ids;
    for (const auto& [id, row] : table.by_id) {
      const std::string& path = row->fields[1];
      if (std::filesystem::path(path).filename().string().starts_with("._")) {
        item_of_id_[id] = kLeftOut;
        log_info(table.where(*row) + ": " + quote(path) + " is left out");
        continue;
      }
      if (!ids.emplace(path, id).second) {
        throw DataError(table.where(*row) + ": " + quote(path) +
                        " has the id " + std::to_string(ids[path]) + " too");
      }
      item_of_id_[id] = static_cast<int64_t>(list_.items.size());
      Item item;
      item.path = root_ + "/images/" + path;
      list_.items.push_back(std::move(item));
    }
  }

  /// Calls use(item, row, where) for each image with its row in another file,
  /// which must have exactly the ids of images.txt.
  template <typename Use>
  void join_rows(const Table& table, const Use& use) {
    for (const auto& [id, row] : table.by_id) {
      const auto found = item_of_id_.find(id);
      if (found == item_of_id_.end()) {
        throw DataError(table.where(*row) + ": id " + std::to_string(id) +
                        " is not in images.txt; take both files from one "
                        "archive");
      }
      if (found->second == kLeftOut) continue;
      use(list_.items[static_cast<size_t>(found->second)], *row,
          table.where(*row));
    }
    for (const auto& [id, position] : item_of_id_) {
      if (position != kLeftOut && !table.by_id.count(id)) {
        throw DataError(table.csv.path() + ": no row for id " +
                        std::to_string(id) + " of images.txt");
      }
    }
  }

  void read_labels() {
    const Table table = read_table("image_class_labels.txt", 2);
    join_rows(table, [&](Item& item, const CsvRow& row, const std::string& at) {
      item.label = parse_integer(row.fields[1], at, "class");
      if (!list_.class_names.count(item.label)) {
        throw DataError(at + ": class " + std::to_string(item.label) +
                        " is not in classes.txt");
      }
      item.split =
          item.label <= kBirdTrainClasses ? Split::kTrain : Split::kTest;
    });
  }

  /// "<id> <x> <y> <width> <height>" in pixels.
  void read_boxes() {
    const Table table = read_table("bounding_boxes.txt", 5);
    join_rows(table, [](Item& item, const CsvRow& row, const std::string& at) {
      const auto number = [&](size_t column, const char* what) {
        const double value = parse_number(row.fields[column], at, what);
        if (std::abs(value) > 1e6) {
          throw DataError(at + ": " + what + " is beyond any picture");
        }
        return value;
      };
      const double x = number(1, "x");
      const double y = number(2, "y");
      const Box box = {std::llround(x), std::llround(y),
                       std::llround(x + number(3, "width")),
                       std::llround(y + number(4, "height"))};
      if (box.empty()) throw DataError(at + ": the box is empty");
      item.box = box;
    });
  }

  static constexpr int64_t kLeftOut = -1;

  std::string root_;
  std::map<int64_t, int64_t> item_of_id_;  ///< Position in the list.
  ImageList list_;
};

}  // namespace

void Cub200Options::describe(OptionSet& set) {
  set.add("path", path,
          "The folder CUB_200_2011: images.txt, image_class_labels.txt, "
          "classes.txt and images/.")
      .not_empty();
  set.add("crop_boxes", crop_boxes,
          "Crop each picture to the bird, by bounding_boxes.txt.");
}

Cub200DataSet::Cub200DataSet(Options options)
    : FileDataSet(kTraits,
                  Cub200Reader(checked_with_path(options, "cub200")).take()) {
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "cub200", Cub200DataSet);

}  // namespace kith
