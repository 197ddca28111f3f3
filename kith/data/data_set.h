#pragma once

#include <string>

#include "kith/core/registry.h"
#include "kith/data/image.h"
#include "kith/data/image_list.h"

namespace kith {

/// A list of labelled images that can be loaded one by one.
class DataSet {
 public:
  virtual ~DataSet() = default;

  const ImageList& list() const { return list_; }

  /// The picture at a position of the list, with its quarter turns applied.
  /// Safe to call from several threads. Throws DataError naming the file.
  Image load(int64_t index) const;

 protected:
  const Item& item(int64_t index) const {
    return list_.items.at(static_cast<size_t>(index));
  }

  /// The picture as stored or drawn. Default: decodes the file at item.path.
  virtual Image read(int64_t index) const;

  ImageList list_;
};

using DataSetRegistry = Registry<DataSet>;
DataSetRegistry& data_set_registry();

/// Makes the data set of a `data:` section. Warns when training classes occur
/// in the test split too.
std::unique_ptr<DataSet> make_data_set(const ConfigNode& section);

/// A data set for a folder (`folder`) or a list (`csv`), by what `path` is.
std::unique_ptr<DataSet> open_data_set(const std::string& path);

/// Files without classes, all in the test split.
std::unique_ptr<DataSet> make_file_set(const std::vector<std::string>& paths);

}  // namespace kith
