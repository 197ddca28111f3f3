#include <cmath>
#include <unordered_map>

#include "kith/core/error.h"
#include "kith/core/quote.h"
#include "kith/data/cars_annotations.h"
#include "kith/data/image_files.h"
#include "kith/data/published_sets.h"

namespace kith {
namespace {

constexpr int64_t kCarTrainClasses = 98;

class Cars196Reader {
 public:
  explicit Cars196Reader(const Cars196Options& options) {
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

  ImageList take() { return std::move(list_); }

 private:
  static Box box_of(const CarAnnotation& image) {
    const Box box = {std::llround(image.x1) - 1, std::llround(image.y1) - 1,
                     std::llround(image.x2), std::llround(image.y2)};
    if (box.empty()) throw DataError(image.where + ": the box is empty");
    return box;
  }
  ImageList list_;
};

}  // namespace

void Cars196Options::describe(OptionSet& set) {
  set.add("path", path, std::string("The folder with ") + kCarFolder + ".")
      .not_empty();
  set.add("crop_boxes", crop_boxes,
          "Crop each picture to the car, by the annotated box.");
}

Cars196::Cars196(Options options)
    : DataSet(kTraits,
              Cars196Reader(checked_with_path(std::move(options), "cars196"))
                  .take()) {}

KITH_REGISTER(data_set_registry(), "cars196", Cars196);

}  // namespace kith
