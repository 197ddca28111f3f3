#include "kith/io/csv.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/data/file_sets.h"
#include "kith/data/image_files.h"

namespace kith {
namespace {

/// The label as a number; none if it is a name.
std::optional<int64_t> label_number(const std::string& text,
                                    const std::string& where) {
  try {
    return parse_integer(text, where, "label");
  } catch (const DataError&) {
    return std::nullopt;
  }
}

class CsvSetReader {
 public:
  explicit CsvSetReader(const CsvSetOptions& options) {
    std::string file = options.path;
    if (is_folder(file)) file += "/dataset.csv";
    root_ = std::filesystem::path(file).parent_path();
    read_list(read_csv(file));
    if (options.rotate_classes) add_rotated_classes(list_);
  }

  ImageList take() { return std::move(list_); }

 private:
  /// Positions of the columns kith knows.
  struct Columns {
    size_t path, label, split;
    std::optional<size_t> is_query, is_gallery, category, class_name, lists;
  };

  void read_list(const CsvTable& table) {
    const Columns columns = find_columns(table);
    list_.has_query_gallery = columns.is_query && columns.is_gallery;
    find_named_classes(table, columns);
    for (const CsvRow& row : table.rows()) add_item(table, row, columns);
    if (list_.items.empty()) {
      throw DataError(table.path() + ": the list has no images");
    }
  }

  /// If a label is no number, all are names, and classes are numbered in the
  /// order of their names, as those of folders are.
  void find_named_classes(const CsvTable& table, const Columns& columns) {
    std::string name;
    std::string where;
    bool has_number = false;
    for (const CsvRow& row : table.rows()) {
      const std::string& label = row.fields[columns.label];
      if (label.empty()) throw DataError(table.where(row) + ": empty label");
      if (label_number(label, "")) {
        has_number = true;
      } else if (name.empty()) {
        name = label;
        where = table.where(row);
      }
    }
    if (name.empty()) return;
    if (has_number) {
      log_warning(where + ": label " + quote(name) +
                  " is not a number, and others are: all are taken as names of "
                  "classes");
    }
    for (const CsvRow& row : table.rows()) {
      numbers_[row.fields[columns.label]] = 0;
    }
    int64_t number = 0;
    for (auto& [label, its_number] : numbers_) {
      its_number = number++;
      list_.class_names[its_number] = label;
    }
  }

  static Columns find_columns(const CsvTable& table) {
    static const std::vector<std::string> known = {
        "path",       "label",    "split", "is_query",
        "is_gallery", "category", "class", "lists"};
    std::vector<std::string> ignored;
    for (const std::string& name : table.header()) {
      if (!std::count(known.begin(), known.end(), name)) {
        ignored.push_back(name);
      }
    }
    if (!ignored.empty()) {
      log_info(table.path() + ": columns not used: " + join(ignored));
    }
    const Columns columns = {table.column("path"),
                             table.column("label"),
                             table.column("split"),
                             table.find_column("is_query"),
                             table.find_column("is_gallery"),
                             table.find_column("category"),
                             table.find_column("class"),
                             table.find_column("lists")};
    if (columns.is_query.has_value() != columns.is_gallery.has_value()) {
      throw DataError(table.path() +
                      ":1: columns is_query and is_gallery come "
                      "together or not at all");
    }
    return columns;
  }

  void add_item(const CsvTable& table, const CsvRow& row,
                const Columns& columns) {
    const std::string where = table.where(row);
    const auto field = [&](size_t column) -> const std::string& {
      return row.fields[column];
    };
    Item item;
    if (field(columns.path).empty()) throw DataError(where + ": empty path");
    item.path = (root_ / field(columns.path)).string();
    item.label = numbers_.empty()
                     ? parse_integer(field(columns.label), where, "label")
                     : numbers_.at(field(columns.label));
    item.split = parse_split(field(columns.split), where);
    if (list_.has_query_gallery && item.split != Split::kTrain) {
      item.is_query = parse_flag(field(*columns.is_query), where, "is_query");
      item.is_gallery =
          parse_flag(field(*columns.is_gallery), where, "is_gallery");
    }
    if (columns.category) item.category = field(*columns.category);
    if (columns.class_name) {
      list_.class_names[item.label] = field(*columns.class_name);
    }
    if (columns.lists) add_to_lists(field(*columns.lists), item, where);
    list_.items.push_back(std::move(item));
  }

  /// Names of lists with spaces between them, for the next item.
  void add_to_lists(const std::string& names, const Item& item,
                    const std::string& where) {
    std::istringstream words(names);
    for (std::string name; words >> name;) {
      if (item.split != Split::kTest) {
        throw DataError(where + ": list " + quote(name) + " has an image of " +
                        split_name(item.split) +
                        "; lists are of test images only: leave the column "
                        "'lists' empty here");
      }
      const auto position = static_cast<int64_t>(list_.items.size());
      std::vector<int64_t>& list = list_.lists[name];
      if (list.empty() || list.back() != position) list.push_back(position);
    }
  }

  std::filesystem::path root_;
  std::map<std::string, int64_t> numbers_;  ///< By name; empty: labels are.
  ImageList list_;
};

}  // namespace

void CsvSetOptions::describe(OptionSet& set) {
  set.add("path", path,
          "The list (path,label,split and optional is_query, is_gallery, "
          "category, class, lists), or a folder with a dataset.csv. Image "
          "paths are relative to it. Labels are integers, or names of classes, "
          "which are then numbered in the order of their names.")
      .not_empty();
  set.add("rotate_classes", rotate_classes,
          "Rotations by 90, 180 and 270 degrees of a training class are "
          "classes of their own.");
}

CsvDataSet::CsvDataSet(Options options)
    : FileDataSet({}, CsvSetReader(checked_with_path(options, "csv")).take()) {
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "csv", CsvDataSet);

}  // namespace kith
