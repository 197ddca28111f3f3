#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kith/core/registry.h"
#include "kith/data/image_list.h"
#include "kith/image/exif.h"
#include "kith/image/image.h"

namespace kith {

/// What the publication of a data set says of its usual retrieval split; 0 is
/// a number that it does not say.
struct PublishedCounts {
  int64_t train_images = 0;
  int64_t train_classes = 0;
  int64_t test_images = 0;
  int64_t test_classes = 0;
  std::string source;  ///< Where the numbers are from.
  /// Images of each of ImageList::lists.
  std::map<std::string, int64_t> lists = {};
};

/// A list of labelled images that can be loaded one by one.
class DataSet {
 public:
  virtual ~DataSet() = default;

  const ImageList& list() const { return list_; }

  /// What the list should count, for data sets known from the literature.
  virtual std::optional<PublishedCounts> published() const { return {}; }

  /// Makes the last `share` of the training classes the validation split.
  void hold_out_classes(double share) { kith::hold_out_classes(list_, share); }

  /// Makes fold number `fold`, from 1, the validation split.
  void hold_out_fold(int64_t folds, int64_t fold) {
    kith::hold_out_fold(list_, folds, fold);
  }

  /// The picture at a position of the list: cropped to its box, which counts
  /// pixels as they are stored, then turned as its EXIF says, then as its item.
  /// Safe to call from several threads. Throws DataError naming the file.
  Image load(int64_t index) const;

 protected:
  const Item& item(int64_t index) const {
    return list_.items.at(static_cast<size_t>(index));
  }

  /// The picture as stored or drawn. Default: decodes the file at item.path.
  virtual StoredImage read(int64_t index) const;

  ImageList list_;
};

using DataSetRegistry = Registry<DataSet>;
DataSetRegistry& data_set_registry();

/// Makes the data set of a `data:` section. Warns when training classes occur
/// in the test split too.
std::unique_ptr<DataSet> make_data_set(const ConfigNode& section);

/// Says that a folder with all of these files and folders holds the data set of
/// this name, for open_data_set. Kept by the data set's own file:
///
///     const bool layout_added = add_layout("cub200", {"images.txt", ...});
bool add_layout(const std::string& name, std::vector<std::string> files);

/// Says that results on this data set are published with that protocol. Kept
/// by the data set's own file, as its layout.
bool add_usual_protocol(const std::string& name, const std::string& protocol);

/// The protocol of an evaluation that names none: the one that the data set is
/// published with, or "standard".
std::string usual_protocol(const std::string& data_set);

/// The data set at `path`: a list is `csv` (`oml` if it is named as OML's), a
/// folder with a dataset.csv is `csv`, one in a published layout that data set,
/// any other `folder`. ConfigError if a folder fits several layouts.
std::unique_ptr<DataSet> open_data_set(const std::string& path);

/// Files without classes, all in the test split.
std::unique_ptr<DataSet> make_file_set(const std::vector<std::string>& paths);

}  // namespace kith
