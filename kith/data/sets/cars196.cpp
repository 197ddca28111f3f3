#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/data/image_files.h"
#include "kith/data/published_sets.h"
#include "kith/io/csv.h"
#include "kith/io/mat.h"

namespace kith {
namespace {

/// One annotation of Stanford Cars. Boxes are MATLAB's: pixels count from 1 and
/// the last ones belong to the box.
struct CarAnnotation {
  std::string path;
  int64_t label = 0;  ///< 1 to 196
  double x1 = 0;
  double y1 = 0;
  double x2 = 0;
  double y2 = 0;
  std::string where;  ///< "file:line" or "file: annotations(7)", for errors.
};

struct CarAnnotations {
  std::vector<CarAnnotation> images;
  std::map<int64_t, std::string> class_names;  ///< All 196, or none.
};

/// What a folder must hold, for messages and help.
constexpr const char* kCarFolder =
    "one of: cars_annos.mat and car_ims/; devkit/cars_train_annos.mat, "
    "cars_test_annos_withlabels.mat (in devkit/ or beside it), cars_train/ and "
    "cars_test/; anno_train.csv, anno_test.csv, names.csv and "
    "car_data/car_data/";

constexpr int64_t kClasses = 196;

/// The elements of a struct array of annotations.
class AnnotationArray {
 public:
  AnnotationArray(const MatValue& value, std::string file)
      : value_(value), file_(std::move(file)) {
    if (value.kind != MatValue::Kind::kStruct) {
      throw DataError(file_ + ": 'annotations' is not a struct array");
    }
  }

  size_t size() const { return value_.count(); }

  /// Without the path, whose field differs between the forms.
  CarAnnotation get(size_t i) const {
    CarAnnotation annotation;
    annotation.where = where(i);
    annotation.label = static_cast<int64_t>(number(i, "class"));
    if (static_cast<double>(annotation.label) != number(i, "class")) {
      throw DataError(where(i) + ": the class is not an integer");
    }
    annotation.x1 = number(i, "bbox_x1");
    annotation.y1 = number(i, "bbox_y1");
    annotation.x2 = number(i, "bbox_x2");
    annotation.y2 = number(i, "bbox_y2");
    return annotation;
  }

  std::string text(size_t i, const char* name) const {
    const MatValue& field = this->field(i, name);
    if (field.kind != MatValue::Kind::kText || field.text.empty()) {
      throw DataError(where(i) + ": '" + name + "' is not text");
    }
    return field.text;
  }

 private:
  double number(size_t i, const char* name) const {
    const MatValue& field = this->field(i, name);
    const bool one =
        field.kind == MatValue::Kind::kNumbers && field.numbers.size() == 1;
    // No class and no picture has a number beyond.
    if (!one || !(std::abs(field.numbers[0]) <= 1e6)) {
      throw DataError(where(i) + ": '" + name + "' is not a number to 1e6");
    }
    return field.numbers[0];
  }

  const MatValue& field(size_t i, const char* name) const {
    const MatValue* field = value_.field(i, name);
    if (field == nullptr) {
      throw DataError(file_ + ": 'annotations' has no field '" + name +
                      "'; it has " + join(value_.fields));
    }
    return *field;
  }

  std::string where(size_t i) const {
    return file_ + ": annotations(" + std::to_string(i + 1) + ")";
  }

  const MatValue& value_;
  std::string file_;
};

class AnnotationReader {
 public:
  explicit AnnotationReader(const std::string& folder) : root_(folder) {}

  CarAnnotations read() {
    require_folder(root_, kCarFolder);
    read_annotations();
    if (result_.images.empty()) throw DataError(root_ + ": no annotations");
    return std::move(result_);
  }

 private:
  bool has(const std::string& name) const {
    return path_exists(root_ + "/" + name);
  }

  void read_annotations() {
    const bool devkit = has("devkit/cars_train_annos.mat");
    const bool one_file = has("cars_annos.mat");
    if (one_file && (has("car_ims") || !devkit)) return read_one_file();
    if (devkit) return read_devkit();
    if (has("anno_train.csv")) return read_csv_files();
    throw DataError(root_ + ": no annotations of Cars196; expected " +
                    kCarFolder);
  }

  void read_one_file() {
    require_folder(root_ + "/car_ims",
                   "the pictures that cars_annos.mat names");
    const std::string file = root_ + "/cars_annos.mat";
    auto variables = read_mat(file, {"annotations", "class_names"});
    name_classes(variables, file);
    add_annotations(variables, file, "relative_im_path", root_);
  }

  void read_devkit() {
    require_folder(root_ + "/cars_train", "the training pictures of Cars196");
    require_folder(root_ + "/cars_test", "the test pictures of Cars196");
    std::string test = "devkit/cars_test_annos_withlabels.mat";
    if (!has(test)) test = "cars_test_annos_withlabels.mat";
    if (!has(test)) {
      throw DataError(root_ +
                      "/devkit: no cars_test_annos_withlabels.mat; classes "
                      "99-196 need it (cars_test_annos.mat has no labels)");
    }
    const std::string meta = root_ + "/devkit/cars_meta.mat";
    name_classes(read_mat(meta, {"class_names"}), meta);
    const std::string train = root_ + "/devkit/cars_train_annos.mat";
    test = root_ + "/" + test;
    add_annotations(read_mat(train, {"annotations"}), train, "fname",
                    root_ + "/cars_train");
    add_annotations(read_mat(test, {"annotations"}), test, "fname",
                    root_ + "/cars_test");
  }

  /// A cell array of texts; cars_annos.mat may be without.
  void name_classes(const std::map<std::string, MatValue>& variables,
                    const std::string& file) {
    const auto found = variables.find("class_names");
    if (found == variables.end()) {
      log_info(file + ": no variable 'class_names'; classes are numbers");
      return;
    }
    for (const MatValue& name : found->second.values) {
      if (name.kind != MatValue::Kind::kText) {
        throw DataError(file + ": 'class_names' is not a cell array of texts");
      }
      add_class(name.text, file);
    }
    check_class_count(file);
  }

  void add_annotations(const std::map<std::string, MatValue>& variables,
                       const std::string& file, const char* path_field,
                       const std::string& folder) {
    const auto found = variables.find("annotations");
    if (found == variables.end()) {
      throw DataError(file + ": no variable 'annotations'");
    }
    const AnnotationArray array(found->second, file);
    for (size_t i = 0; i < array.size(); ++i) {
      CarAnnotation annotation = array.get(i);
      annotation.path = folder + "/" + array.text(i, path_field);
      check_label(annotation);
      result_.images.push_back(std::move(annotation));
    }
  }

  void read_csv_files() {
    const std::string names = root_ + "/names.csv";
    const CsvTable table = read_csv(names, {',', false});
    for (const CsvRow& row : table.rows()) {
      add_class(row.fields[0], names);
    }
    check_class_count(names);
    for (const char* split : {"train", "test"}) {
      const std::string folder = root_ + "/car_data/car_data/" + split;
      require_folder(folder, "a folder of pictures for each class");
      add_csv(root_ + "/anno_" + split + ".csv", folder);
    }
  }

  /// "<file>,<x1>,<y1>,<x2>,<y2>,<class>"; pictures lie in folders of the
  /// classes' names, in which a slash has become a hyphen.
  void add_csv(const std::string& file, const std::string& folder) {
    const CsvTable table = read_csv(file, {',', false});
    for (const CsvRow& row : table.rows()) {
      CarAnnotation annotation;
      annotation.where = table.where(row);
      if (row.fields.size() != 6) {
        throw DataError(annotation.where +
                        ": expected 6 columns file,x1,y1,x2,y2,class, got " +
                        std::to_string(row.fields.size()));
      }
      const auto number = [&](size_t column, const char* what) {
        return static_cast<double>(
            parse_integer(row.fields[column], annotation.where, what));
      };
      annotation.x1 = number(1, "x1");
      annotation.y1 = number(2, "y1");
      annotation.x2 = number(3, "x2");
      annotation.y2 = number(4, "y2");
      annotation.label =
          parse_integer(row.fields[5], annotation.where, "class");
      check_label(annotation);
      std::string name = result_.class_names.at(annotation.label);
      for (char& c : name) {
        if (c == '/') c = '-';
      }
      annotation.path = folder + "/" + name + "/" + row.fields[0];
      result_.images.push_back(std::move(annotation));
    }
  }

  void add_class(const std::string& name, const std::string& file) {
    if (name.empty()) throw DataError(file + ": an empty class name");
    result_.class_names[static_cast<int64_t>(result_.class_names.size()) + 1] =
        name;
  }

  void check_class_count(const std::string& file) const {
    if (result_.class_names.size() != static_cast<size_t>(kClasses)) {
      throw DataError(file + ": " + std::to_string(result_.class_names.size()) +
                      " class names, expected 196");
    }
  }

  static void check_label(const CarAnnotation& annotation) {
    if (annotation.label < 1 || annotation.label > kClasses) {
      throw DataError(annotation.where + ": class " +
                      std::to_string(annotation.label) + " is not in 1 to 196");
    }
  }

  std::string root_;
  CarAnnotations result_;
};

/// Reads the annotations in any of the three forms they are spread in; the
/// first whose files are there, for a folder may hold several. DataError that
/// names the file if something is missing or wrong.
CarAnnotations read_car_annotations(const std::string& folder) {
  return AnnotationReader(folder).read();
}

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

Cars196DataSet::Cars196DataSet(Options options)
    : FileDataSet(kTraits,
                  Cars196Reader(checked_with_path(options, "cars196")).take()) {
  made_of(options);
}

KITH_REGISTER(data_set_registry(), "cars196", Cars196DataSet);

}  // namespace kith
