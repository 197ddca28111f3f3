#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kith {

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
inline constexpr const char* kCarFolder =
    "one of: cars_annos.mat and car_ims/; devkit/cars_train_annos.mat, "
    "cars_test_annos_withlabels.mat (in devkit/ or beside it), cars_train/ and "
    "cars_test/; anno_train.csv, anno_test.csv, names.csv and "
    "car_data/car_data/";

/// Reads the annotations in any of the three forms they are spread in; the
/// first whose files are there, for a folder may hold several. DataError that
/// names the file if something is missing or wrong.
CarAnnotations read_car_annotations(const std::string& folder);

}  // namespace kith
