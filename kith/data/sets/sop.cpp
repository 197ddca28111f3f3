#include <filesystem>
#include <unordered_map>

#include "kith/core/error.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/data/image_files.h"
#include "kith/data/published_sets.h"
#include "kith/io/csv.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

class SopReader {
 public:
  explicit SopReader(const SopOptions& options) : root_(options.path) {
    require_folder(root_, "Ebay_train.txt of Stanford_Online_Products");
    const bool apart = path_exists(root_ + "/Info_Files/Ebay_train.txt");
    const std::string lists = apart ? root_ + "/Info_Files" : root_;
    images_ = apart || is_folder(root_ + "/images") ? root_ + "/images" : root_;
    Seen seen;
    read_list(lists + "/Ebay_train.txt", Split::kTrain, seen);
    read_list(lists + "/Ebay_test.txt", Split::kTest, seen);
    require_folder(fs::path(list_.items.front().path).parent_path().string(),
                   "the pictures of Stanford_Online_Products");
  }

  ImageList take() { return std::move(list_); }

 private:
  /// Where a text was first seen: "path:line".
  using Places = std::unordered_map<std::string, std::string>;
  struct Seen {
    Places ids;
    Places paths;
  };

  void read_list(const std::string& path, Split split, Seen& seen) {
    const CsvTable table = read_csv(path, {' ', true});
    const size_t id_column = table.column("image_id");
    const size_t class_column = table.column("class_id");
    const size_t super_column = table.column("super_class_id");
    const size_t path_column = table.column("path");
    for (const CsvRow& row : table.rows()) {
      const std::string where = table.where(row);
      check_new(seen.ids, row.fields[id_column], where, "image_id");
      check_new(seen.paths, row.fields[path_column], where, "path");
      parse_positive(row.fields[id_column], where, "image_id");
      Item item;
      item.path = images_ + "/" + row.fields[path_column];
      item.label = parse_positive(row.fields[class_column], where, "class_id");
      item.split = split;
      const int64_t super_class =
          parse_positive(row.fields[super_column], where, "super_class_id");
      item.category = category(row.fields[path_column], super_class);
      list_.items.push_back(std::move(item));
    }
    if (table.rows().empty()) throw DataError(path + ": the list has no rows");
  }

  static int64_t parse_positive(const std::string& text,
                                const std::string& where,
                                const std::string& what) {
    const int64_t value = parse_integer(text, where, what);
    if (value < 1) {
      throw DataError(where + ": " + what + " is " + text +
                      ", expected 1 or more");
    }
    return value;
  }

  static void check_new(Places& places, const std::string& text,
                        const std::string& where, const std::string& what) {
    const auto [place, added] = places.emplace(text, where);
    if (!added) {
      throw DataError(where + ": " + what + " " + quote(text) +
                      " is there twice, first at " + place->second);
    }
  }

  /// Pictures lie in a folder for each of the 12 super classes: "sofa_final".
  static std::string category(const std::string& path, int64_t super_class) {
    const size_t end = path.find('/');
    if (end == std::string::npos) return std::to_string(super_class);
    const std::string folder = path.substr(0, end);
    constexpr std::string_view kSuffix = "_final";
    return folder.ends_with(kSuffix)
               ? folder.substr(0, folder.size() - kSuffix.size())
               : folder;
  }

  std::string root_;
  std::string images_;
  ImageList list_;
};

}  // namespace

void SopOptions::describe(OptionSet& set) {
  set.add("path", path,
          "The folder Stanford_Online_Products: Ebay_train.txt, "
          "Ebay_test.txt and the pictures; or the lists in Info_Files/ and "
          "the pictures in images/.")
      .not_empty();
}

SopDataSet::SopDataSet(Options options)
    : FileDataSet(kTraits,
                  SopReader(checked_with_path(options, "sop")).take()) {
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "sop", SopDataSet);

}  // namespace kith
