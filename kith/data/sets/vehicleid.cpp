#include <algorithm>
#include <unordered_map>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/path.h"
#include "kith/data/image_files.h"
#include "kith/data/published_sets.h"
#include "kith/io/csv.h"
#include "kith/io/text_rows.h"

namespace kith {
namespace {

constexpr const char* kVehicleTrainList = "train_test_split/train_list.txt";
constexpr const char* kModels = "attribute/model_attr.txt";

struct VehicleTestList {
  const char* name;
  const char* file;
};
constexpr VehicleTestList kVehicleTestLists[] = {
    {"small", "train_test_split/test_list_800.txt"},
    {"medium", "train_test_split/test_list_1600.txt"},
    {"large", "train_test_split/test_list_2400.txt"}};

class VehicleIdReader {
 public:
  explicit VehicleIdReader(const VehicleIdOptions& options)
      : root_(options.path) {
    require_folder(root_, "train_test_split/ of VehicleID");
    require_folder(root_ + "/image", "the pictures of VehicleID");
    read_list(kVehicleTrainList, Split::kTrain);
    for (const VehicleTestList& list : kVehicleTestLists) {
      std::vector<int64_t> images = read_list(list.file, Split::kTest);
      std::sort(images.begin(), images.end());
      list_.lists[list.name] = std::move(images);
    }
    read_models();
  }

  ImageList take() { return std::move(list_); }

 private:
  /// Rows "<image> <vehicle>". The positions of the list's images.
  std::vector<int64_t> read_list(const char* file, Split split) {
    std::vector<int64_t> positions;
    std::unordered_map<int64_t, int64_t> lines;
    TextRows rows(root_ + "/" + file);
    while (rows.next()) {
      rows.expect(2, "<image> <vehicle>");
      const int64_t image = number(rows, 0, "image");
      const auto [line, added] = lines.emplace(image, rows.line());
      if (!added) {
        throw DataError(rows.where() + ": image " + std::to_string(image) +
                        " is there twice, first in line " +
                        std::to_string(line->second));
      }
      positions.push_back(add_image(rows, image, split));
    }
    if (positions.empty()) {
      throw DataError(rows.path() + ": the list has no images");
    }
    return positions;
  }

  /// The image's position in the list; it may be there, of another test list.
  int64_t add_image(const TextRows& rows, int64_t image, Split split) {
    const int64_t vehicle = number(rows, 1, "vehicle");
    const auto [entry, added] =
        position_of_.emplace(image, static_cast<int64_t>(list_.items.size()));
    if (added) {
      Item item;
      item.path = root_ + "/image/" + file_name(image);
      item.label = vehicle;
      item.split = split;
      list_.items.push_back(std::move(item));
      return entry->second;
    }
    const Item& item = list_.items[static_cast<size_t>(entry->second)];
    if (item.split != split) {
      throw DataError(rows.where() + ": image " + std::to_string(image) +
                      " is in " + kVehicleTrainList + " too");
    }
    if (item.label != vehicle) {
      throw DataError(rows.where() + ": image " + std::to_string(image) +
                      " is of vehicle " + std::to_string(vehicle) +
                      " here and of " + std::to_string(item.label) +
                      " in another list");
    }
    return entry->second;
  }

  static int64_t number(const TextRows& rows, size_t column, const char* what) {
    const int64_t value =
        parse_integer(rows.words()[column], rows.where(), what);
    if (value < 0) {
      throw DataError(rows.where() + ": " + what + " is " +
                      std::to_string(value) + ", expected 0 or more");
    }
    return value;
  }

  /// "0000001.jpg"
  static std::string file_name(int64_t image) {
    std::string digits = std::to_string(image);
    constexpr size_t kDigits = 7;
    if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
    return digits + ".jpg";
  }

  /// Rows "<vehicle> <model>" for about half of the vehicles.
  void read_models() {
    const std::string file = root_ + "/" + kModels;
    if (!path_exists(file)) {
      log_info(file + " is not there: the images have no category");
      return;
    }
    std::unordered_map<int64_t, std::string> models;
    TextRows rows(file);
    while (rows.next()) {
      rows.expect(2, "<vehicle> <model>");
      const int64_t vehicle = number(rows, 0, "vehicle");
      const std::string model = std::to_string(number(rows, 1, "model"));
      const auto [entry, added] = models.emplace(vehicle, model);
      if (!added && entry->second != model) {
        throw DataError(rows.where() + ": vehicle " + std::to_string(vehicle) +
                        " has another model in an earlier line");
      }
    }
    for (Item& item : list_.items) {
      const auto model = models.find(item.label);
      if (model != models.end()) item.category = model->second;
    }
  }

  std::string root_;
  std::unordered_map<int64_t, int64_t> position_of_;  ///< Of an image's number.
  ImageList list_;
};

}  // namespace

void VehicleIdOptions::describe(OptionSet& set) {
  set.add("path", path,
          "The folder VehicleID_V1.0: train_test_split/, image/ and, for the "
          "category, attribute/model_attr.txt.")
      .not_empty();
}

VehicleIdDataSet::VehicleIdDataSet(Options options)
    : FileDataSet(
          kTraits,
          VehicleIdReader(checked_with_path(options, "vehicleid")).take()) {
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "vehicleid", VehicleIdDataSet);

}  // namespace kith
