#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kith/image/crop.h"

namespace kith {

enum class Split { kTrain, kTest, kValidation };

const char* split_name(Split split);

/// "train", "test", "validation" or "val"; anything else throws DataError
/// that starts with `where`.
Split parse_split(const std::string& text, const std::string& where);

/// One image of a data set.
struct Item {
  /// Of the file, or a made-up name if it is generated.
  std::string path = {};
  int64_t label = 0;
  Split split = Split::kTrain;
  bool is_query = true;    ///< In query/gallery protocols. Without such lists
  bool is_gallery = true;  ///< every test image is both.
  std::string category = {};    ///< A group of classes (an alphabet), or empty.
  int quarter_turns = 0;        ///< Rotation by 90 degrees, counter-clockwise.
  std::optional<Box> box = {};  ///< The picture is cropped to it, then turned.
  /// Where its data set finds the picture, if that is not the file `path`.
  int64_t place = -1;
};

/// The images that answer a query, where no labels say so. An image is in one
/// of the lists at most; those in none are wrong answers.
struct QueryTruth {
  int64_t query = 0;
  std::vector<int64_t> easy = {};  ///< Rising, as are the others.
  std::vector<int64_t> hard = {};
  std::vector<int64_t> junk = {};  ///< Neither right nor wrong.
};

/// The images of a data set in a fixed order; an image is named by its
/// position everywhere else.
struct ImageList {
  std::vector<Item> items = {};
  std::map<int64_t, std::string> class_names = {};  ///< May lack labels.
  bool has_query_gallery = false;
  /// Positions in `items`, by rising query.
  std::vector<QueryTruth> truths = {};
  /// Positions of images that match, the query first, where the data set says
  /// so and labels say less.
  std::vector<std::array<int64_t, 2>> pairs = {};
  /// Rising positions of test images in lists of their own, such as the
  /// small, medium and large one of VehicleID.
  std::map<std::string, std::vector<int64_t>> lists = {};

  std::vector<int64_t> of_split(Split split) const;
  std::vector<int64_t> labels(const std::vector<int64_t>& indices) const;

  /// The class's name, or its number if it has none.
  std::string class_name(int64_t label) const;
};

/// Labels the items by the names of their classes, in the order of the items:
/// classes are numbered from 0 in the order of their names, over all splits.
void label_by_name(ImageList& list, const std::vector<std::string>& names);

/// What `kith data check` prints of a split.
struct SplitSummary {
  Split split = Split::kTrain;
  int64_t images = 0;
  int64_t classes = 0;
  int64_t min_per_class = 0;
  int64_t median_per_class = 0;
  int64_t max_per_class = 0;
  int64_t smallest_class = 0;  ///< The first of those with the fewest images,
  int64_t largest_class = 0;   ///< and with the most.
  std::vector<int64_t> single_classes;  ///< Classes with one image.
};

SplitSummary summarise(const ImageList& list, Split split);

/// Classes that occur both in training and in test or validation. Retrieval
/// protocols want none: a shared class makes the test easier.
std::vector<int64_t> shared_classes(const ImageList& list);

/// Leaves the items at these positions out; truths and lists follow.
void leave_out_items(ImageList& list, const std::vector<int64_t>& positions);

/// Each training class becomes four: itself and its rotations by 90, 180 and
/// 270 degrees, labelled 4 * label + turns. Classes of other splits are not
/// turned; their labels become 4 * label too. Throws DataError for a label that
/// is too large for that.
void add_rotated_classes(ImageList& list);

/// The last `share` of the training classes, in the order of their labels,
/// become the validation split: of C classes the first round((1 - share) C)
/// remain, so 0.5 of 98 is 49. A class and its rotations stay together; held
/// out, the rotations are left out of the list. Other splits are unchanged.
/// ConfigError if the list has a validation split of its own, or if no class
/// would be held out or none would remain.
void hold_out_classes(ImageList& list, double share);

/// The same for one of `folds` parts of the training classes, in the order of
/// their labels: of C classes, fold f (from 1) holds those at positions
/// [C (f - 1) / folds, C f / folds), rounded down. ConfigError if there are
/// fewer classes than folds.
void hold_out_fold(ImageList& list, int64_t folds, int64_t fold);

}  // namespace kith
