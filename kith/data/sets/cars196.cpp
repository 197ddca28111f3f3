#include <cmath>
#include <unordered_map>

#include "kith/core/error.h"
#include "kith/core/quote.h"
#include "kith/data/cars_annotations.h"
#include "kith/data/data_set.h"

namespace kith {
namespace {

constexpr int64_t kCarTrainClasses = 98;

struct Cars196Options {
  std::string path;
  bool crop_boxes = false;

  void describe(OptionSet& set) {
    set.add("path", path, std::string("The folder with ") + kCarFolder + ".")
        .not_empty();
    set.add("crop_boxes", crop_boxes,
            "Crop each picture to the car, by the annotated box.");
  }
};

/// Stanford Cars. Labels are the published class numbers, from 1; the published
/// division of images, which has all classes on both sides, is not used.
class Cars196 final : public DataSet {
 public:
  static constexpr const char* kSummary =
      "Cars196 (Stanford Cars) as published: classes 1-98 train, 99-196 test";
  using Options = Cars196Options;

  explicit Cars196(const Options& options) {
    if (options.path.empty()) throw ConfigError("'data.path' is missing");
    CarAnnotations annotations = read_car_annotations(options.path);
    list_.class_names = std::move(annotations.class_names);
    std::unordered_map<std::string, std::string> places;
    for (const CarAnnotation& image : annotations.images) {
      const auto [place, added] = places.emplace(image.path, image.where);
      if (!added) {
        throw DataError(image.where + ": " + quote(image.path) +
                        " is there twice, first at " + place->second);
      }
      Item item;
      item.path = image.path;
      item.label = image.label;
      item.split =
          item.label <= kCarTrainClasses ? Split::kTrain : Split::kTest;
      if (options.crop_boxes) item.box = box_of(image);
      list_.items.push_back(std::move(item));
    }
  }

  std::optional<PublishedCounts> published() const override {
    return PublishedCounts{8054, 98, 8131, 98,
                           "the usual split of Cars196 by class"};
  }

 private:
  static Box box_of(const CarAnnotation& image) {
    const Box box = {std::llround(image.x1) - 1, std::llround(image.y1) - 1,
                     std::llround(image.x2), std::llround(image.y2)};
    if (box.empty()) throw DataError(image.where + ": the box is empty");
    return box;
  }
};

const bool cars196_layouts_added[] = {
    add_layout("cars196", {"cars_annos.mat"}),
    add_layout("cars196", {"devkit/cars_train_annos.mat"}),
    add_layout("cars196", {"anno_train.csv", "names.csv"})};

}  // namespace

KITH_REGISTER(data_set_registry(), "cars196", Cars196);

}  // namespace kith
