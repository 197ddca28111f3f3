#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/data/file_sets.h"
#include "kith/data/image_files.h"
#include "kith/io/csv.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

class OmlReader {
 public:
  explicit OmlReader(const OmlOptions& options) : crop_(options.crop_boxes) {
    const std::string file = find_list(options.path);
    root_ = fs::path(file).parent_path();
    const CsvTable table = read_csv(file);
    const Columns columns = find_columns(table);
    list_.has_query_gallery = true;
    for (const CsvRow& row : table.rows()) {
      add_item(row, columns, table.where(row));
    }
    if (list_.items.empty()) throw DataError(file + ": the list has no images");
    check_repeats(table, columns);
    check_queries(table);
    require_folder(
        fs::path(list_.items.front().path).parent_path().string(),
        "the first image of " + file + " (paths are relative to it)");
  }

  ImageList take() { return std::move(list_); }

 private:
  /// Positions of the columns kith uses.
  struct Columns {
    size_t path, label, split, is_query, is_gallery;
    std::optional<size_t> category;
    std::optional<std::array<size_t, 4>> box;  ///< x_1, x_2, y_1, y_2
  };

  std::string find_list(const std::string& path) const {
    if (!is_folder(path)) return path;
    std::string plain = path + "/df.csv";
    std::string boxed = path + "/df_with_bboxes.csv";
    if (path_exists(plain) && path_exists(boxed)) return crop_ ? boxed : plain;
    if (path_exists(plain)) return plain;
    if (path_exists(boxed)) return boxed;
    throw DataError(path + ": expected df.csv or df_with_bboxes.csv there");
  }

  Columns find_columns(const CsvTable& table) const {
    Columns columns = {table.column("path"),
                       table.column("label"),
                       table.column("split"),
                       table.column("is_query"),
                       table.column("is_gallery"),
                       table.find_column("category"),
                       {}};
    const std::vector<std::string> names = {"x_1", "x_2", "y_1", "y_2"};
    std::vector<size_t> found;
    for (const std::string& name : names) {
      if (const auto column = table.find_column(name)) found.push_back(*column);
    }
    if (!found.empty() && found.size() != names.size()) {
      throw DataError(table.path() +
                      ":1: columns x_1, x_2, y_1 and y_2 come together or not "
                      "at all");
    }
    if (!found.empty()) columns.box = {found[0], found[1], found[2], found[3]};
    if (crop_ && !columns.box) {
      throw DataError(table.path() +
                      ":1: no columns x_1, x_2, y_1, y_2; give the list with "
                      "boxes (df_with_bboxes.csv) or 'crop_boxes: false'");
    }
    report_unused(table);
    return columns;
  }

  static void report_unused(const CsvTable& table) {
    if (table.find_column("sequence")) {
      log_warning(table.path() +
                  ": column 'sequence' is not used: images of the query's own "
                  "sequence count in the gallery");
    }
    static const std::set<std::string> known = {
        "path",     "label", "split", "is_query", "is_gallery", "category",
        "sequence", "x_1",   "x_2",   "y_1",      "y_2"};
    std::vector<std::string> unused;
    for (const std::string& name : table.header()) {
      if (!known.count(name)) unused.push_back(quote(name));
    }
    if (!unused.empty()) {
      log_info(table.path() + ": columns not used: " + join(unused));
    }
  }

  void add_item(const CsvRow& row, const Columns& columns,
                const std::string& where) {
    const auto field = [&](size_t column) -> const std::string& {
      return row.fields[column];
    };
    Item item;
    if (field(columns.path).empty()) throw DataError(where + ": empty path");
    item.path = (root_ / field(columns.path)).string();
    item.label = parse_integer(field(columns.label), where, "label");
    item.split = parse_split(field(columns.split), where);
    if (item.split == Split::kTest) {
      throw DataError(where +
                      ": split 'test' is not one of OML's; write 'train' or "
                      "'validation', or use the data set 'csv'");
    }
    read_flags(field(columns.is_query), field(columns.is_gallery), where, item);
    if (columns.category) item.category = field(*columns.category);
    if (columns.box) {
      const std::optional<Box> box = parse_box(row, *columns.box, where);
      if (crop_) item.box = box;
    }
    list_.items.push_back(std::move(item));
  }

  /// Empty for training images; otherwise one of the two must be true.
  static void read_flags(const std::string& query, const std::string& gallery,
                         const std::string& where, Item& item) {
    if (item.split == Split::kTrain) {
      if (!query.empty() || !gallery.empty()) {
        throw DataError(where +
                        ": is_query and is_gallery must be empty for split "
                        "'train'");
      }
      return;
    }
    item.is_query = parse_flag(query, where, "is_query");
    item.is_gallery = parse_flag(gallery, where, "is_gallery");
    if (!item.is_query && !item.is_gallery) {
      throw DataError(where +
                      ": a validation image must be a query, in the gallery, "
                      "or both; remove the row if it is neither");
    }
  }

  /// All four numbers or none. Where some rows have none, pandas writes whole
  /// numbers as 12.0.
  static std::optional<Box> parse_box(const CsvRow& row,
                                      const std::array<size_t, 4>& columns,
                                      const std::string& where) {
    constexpr std::array<const char*, 4> kNames = {"x_1", "x_2", "y_1", "y_2"};
    std::array<int64_t, 4> edges = {};
    size_t empty = 0;
    for (size_t i = 0; i < edges.size(); ++i) {
      const std::string& text = row.fields[columns[i]];
      if (text.empty()) {
        ++empty;
        continue;
      }
      const double value = parse_number(text, where, kNames[i]);
      if (std::abs(value) > 1e6 || value != std::floor(value)) {
        throw DataError(where + ": " + kNames[i] + " " + quote(text) +
                        " is not a number of pixels");
      }
      edges[i] = static_cast<int64_t>(value);
    }
    if (empty == edges.size()) return std::nullopt;
    if (empty > 0) {
      throw DataError(where + ": x_1, x_2, y_1 and y_2 are all given or none");
    }
    const Box box = {edges[0], edges[2], edges[1], edges[3]};
    if (box.empty()) {
      throw DataError(where +
                      ": the box is empty; expected x_1 < x_2 and "
                      "y_1 < y_2");
    }
    return box;
  }

  /// A picture may come again with another box: several things are in it.
  static void check_repeats(const CsvTable& table, const Columns& columns) {
    std::map<std::string, int64_t> lines;
    for (const CsvRow& row : table.rows()) {
      std::string key = row.fields[columns.path];
      if (columns.box) {
        for (const size_t column : *columns.box)
          key += "," + row.fields[column];
      }
      const auto [line, added] = lines.emplace(key, row.line);
      if (!added) {
        throw DataError(
            table.where(row) + ": " + quote(row.fields[columns.path]) +
            " is there twice, first in line " + std::to_string(line->second));
      }
    }
  }

  void check_queries(const CsvTable& table) const {
    std::set<int64_t> gallery;
    for (const Item& item : list_.items) {
      if (item.split != Split::kTrain && item.is_gallery) {
        gallery.insert(item.label);
      }
    }
    for (size_t i = 0; i < list_.items.size(); ++i) {
      const Item& item = list_.items[i];
      if (item.split == Split::kTrain || !item.is_query) continue;
      if (!gallery.count(item.label)) {
        throw DataError(table.where(table.rows()[i]) + ": the query's label " +
                        std::to_string(item.label) +
                        " is not in the gallery; remove the query, or add an "
                        "image of its class with is_gallery True");
      }
    }
  }

  bool crop_;
  fs::path root_;
  ImageList list_;
};

}  // namespace

void OmlOptions::describe(OptionSet& set) {
  set.add("path", path,
          "A list as Open Metric Learning writes it, df.csv or "
          "df_with_bboxes.csv, or the folder with it. Image paths are "
          "relative to it. Its split 'validation' is kith's validation "
          "split.")
      .not_empty();
  set.add("crop_boxes", crop_boxes,
          "Crop each picture that has a box (x_1, x_2, y_1, y_2) to it.");
}

OmlDataSet::OmlDataSet(Options options)
    : FileDataSet(kTraits,
                  OmlReader(checked_with_path(options, "oml")).take()) {
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "oml", OmlDataSet);

}  // namespace kith
