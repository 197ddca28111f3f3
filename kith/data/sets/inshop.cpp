#include <filesystem>
#include <unordered_map>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/quote.h"
#include "kith/data/image_files.h"
#include "kith/data/item_sources.h"
#include "kith/data/published_sets.h"
#include "kith/io/csv.h"
#include "kith/io/text_rows.h"

namespace kith {
namespace {

constexpr const char* kPartition = "list_eval_partition.txt";
constexpr const char* kBoxes = "list_bbox_inshop.txt";

class InShopReader {
 public:
  explicit InShopReader(const InShopOptions& options) : root_(options.path) {
    require_folder(root_, "list_eval_partition.txt of In-Shop Clothes");
    list_.has_query_gallery = true;
    find_images(options);
    read_partition(find_file("Eval", kPartition));
    if (options.crop_boxes) read_boxes(find_file("Anno", kBoxes));
  }

  ImageList take() { return std::move(list_); }

 private:
  /// In the folder where it is published, or in the root.
  std::string find_file(const std::string& folder, const char* name) const {
    const std::string found = first_that_exists(
        {root_ + "/" + folder + "/" + name, root_ + "/" + name});
    if (!found.empty()) return found;
    throw DataError(root_ + ": neither " + folder + "/" + name + " nor " +
                    name + " is there");
  }

  void find_images(const InShopOptions& options) {
    std::vector<std::string> names = {options.images};
    if (options.images == "auto") names = {"img", "img_highres"};
    for (const std::string& name : names) {
      images_ = first_that_exists({root_ + "/" + name, root_ + "/Img/" + name});
      if (images_.empty()) continue;
      if (name == "img") return;
      if (options.crop_boxes) {
        throw ConfigError(
            "'inshop.crop_boxes' needs the pictures of img/: the boxes of "
            "list_bbox_inshop.txt do not fit those of " +
            images_);
      }
      log_info("the pictures are those of " + images_);
      return;
    }
    throw DataError(root_ + ": no folder " + join(names, " or ") +
                    " with the pictures of In-Shop Clothes; unpack it there");
  }

  /// The number of rows, the header, then "<path> <item> <status>".
  void read_partition(const std::string& file) {
    TextRows rows(file);
    const int64_t count = read_count(rows);
    rows.read_header("image_name item_id evaluation_status");
    ItemSources sources;
    while (rows.next()) {
      rows.expect(3, "<image_name> <item_id> <evaluation_status>");
      add_item(rows);
      sources.add(file, rows.line());
    }
    check_count(file, count, static_cast<int64_t>(list_.items.size()));
    sources.check_once(list_);
  }

  static int64_t read_count(TextRows& rows) {
    if (!rows.next()) throw DataError(rows.path() + ": the file is empty");
    rows.expect(1, "<number of images>");
    return parse_integer(rows.words()[0], rows.where(), "the number of images");
  }

  static void check_count(const std::string& file, int64_t count,
                          int64_t rows) {
    if (rows == count && rows > 0) return;
    throw DataError(file + ":1: says " + std::to_string(count) +
                    " images, but the list has " + std::to_string(rows) +
                    "; unpack it again, or correct the number");
  }

  void add_item(const TextRows& rows) {
    Item item;
    item.path = images_ + "/" + below_images(rows);
    item.category = category(rows);
    item.label = read_label(rows);
    list_.class_names[item.label] = rows.words()[1];
    const std::string& status = rows.words()[2];
    if (status == "query" || status == "gallery") {
      item.split = Split::kTest;
      item.is_query = status == "query";
      item.is_gallery = !item.is_query;
    } else if (status != "train") {
      throw DataError(rows.where() + ": status " + quote(status) +
                      ", expected train, query or gallery");
    }
    list_.items.push_back(std::move(item));
  }

  /// "img/WOMEN/x.jpg" or "img_highres/WOMEN/x.jpg" without the first folder.
  static std::string below_images(const TextRows& rows) {
    const std::string& path = rows.words()[0];
    for (const std::string folder : {"img/", "img_highres/"}) {
      if (path.starts_with(folder)) return path.substr(folder.size());
    }
    throw DataError(rows.where() + ": " + quote(path) +
                    " does not start with img/");
  }

  /// What lies between the pictures' folder and the item's.
  static std::string category(const TextRows& rows) {
    const std::filesystem::path path = below_images(rows);
    return path.parent_path().parent_path().string();
  }

  static int64_t read_label(const TextRows& rows) {
    const std::string& item = rows.words()[1];
    if (!item.starts_with("id_")) {
      throw DataError(rows.where() + ": item " + quote(item) +
                      ", expected id_ and a number");
    }
    return parse_integer(item.substr(3), rows.where(), "the number of item_id");
  }

  /// The number of rows, the header, then seven columns of which the last four
  /// are the box: columns x_1 to before x_2, rows y_1 to before y_2.
  void read_boxes(const std::string& file) {
    std::unordered_map<std::string, size_t> positions;
    for (size_t i = 0; i < list_.items.size(); ++i) {
      positions.emplace(list_.items[i].path, i);
    }
    TextRows rows(file);
    const int64_t count = read_count(rows);
    rows.read_header("image_name clothes_type pose_type x_1 y_1 x_2 y_2");
    int64_t read = 0;
    for (; rows.next(); ++read) {
      rows.expect(7,
                  "<image_name> <clothes_type> <pose_type> <x_1> <y_1> <x_2> "
                  "<y_2>");
      const auto found = positions.find(images_ + "/" + below_images(rows));
      if (found == positions.end()) continue;  // in no list
      Item& item = list_.items[found->second];
      if (item.box) {
        throw DataError(rows.where() + ": " + quote(rows.words()[0]) +
                        " has a second box");
      }
      item.box = read_box(rows);
    }
    check_count(file, count, read);
    for (const Item& item : list_.items) {
      if (!item.box) throw DataError(file + ": no box of " + item.path);
    }
  }

  static Box read_box(const TextRows& rows) {
    const auto edge = [&](size_t column, const char* what) {
      const int64_t value =
          parse_integer(rows.words()[column], rows.where(), what);
      if (value < -kMaxPixels || value > kMaxPixels) {
        throw DataError(rows.where() + ": " + what + " is beyond any picture");
      }
      return value;
    };
    const Box box = {edge(3, "x_1"), edge(4, "y_1"), edge(5, "x_2"),
                     edge(6, "y_2")};
    if (box.empty()) throw DataError(rows.where() + ": the box is empty");
    return box;
  }

  static constexpr int64_t kMaxPixels = 1'000'000;

  std::string root_;
  std::string images_;
  ImageList list_;
};

}  // namespace

void InShopOptions::describe(OptionSet& set) {
  set.add("path", path,
          "The folder with Eval/list_eval_partition.txt, or with that list "
          "itself, and the pictures in img/ or img_highres/.")
      .not_empty();
  set.add("images", images,
          "The folder of the pictures; auto: img if it is there, else "
          "img_highres.")
      .choices({"auto", "img", "img_highres"});
  set.add("crop_boxes", crop_boxes,
          "Crop each picture to the garment, by list_bbox_inshop.txt; the "
          "boxes are those of img.");
}

InShopDataSet::InShopDataSet(Options options)
    : FileDataSet(kTraits,
                  InShopReader(checked_with_path(options, "inshop")).take()) {
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "inshop", InShopDataSet);

}  // namespace kith
