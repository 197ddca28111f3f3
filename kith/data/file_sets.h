#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kith/data/data_set.h"
#include "kith/io/tar.h"

namespace kith {

struct CsvSetOptions {
  std::string path = {};
  bool rotate_classes = false;

  void describe(OptionSet& set);
};

class CsvDataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary = "a list of image files, dataset.csv";
  using Options = CsvSetOptions;

  explicit CsvDataSet(Options options);
};

struct FolderOptions {
  std::string path = {};
  double test_fraction = 0.5;
  bool rotate_classes = false;

  void describe(OptionSet& set);
};

/// Classes are numbered in the order of their names over all splits, so a
/// class that occurs in two splits has one number.
class FolderDataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary = "a folder with one folder per class";
  using Options = FolderOptions;

  explicit FolderDataSet(Options options);
};

struct OmlOptions {
  std::string path = {};
  bool crop_boxes = false;

  void describe(OptionSet& set);
};

/// The list of Open Metric Learning, with that project's rules: validation
/// images are queries, gallery or both, and every query's class is in the
/// gallery.
class OmlDataSet final : public FileDataSet {
 public:
  static constexpr const char* kSummary =
      "a list of Open Metric Learning, df.csv";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"df.csv"}, {"df_with_bboxes.csv"}}};
  using Options = OmlOptions;

  explicit OmlDataSet(Options options);
};

struct WebDatasetOptions {
  std::string path = {};
  std::string label = "cls";
  double test_fraction = 0.5;

  void describe(OptionSet& set);
};

/// Tar archives in the layout of WebDataset: the files of a sample follow one
/// another and have the same name up to the first dot. Nothing is unpacked:
/// pictures are read where they lie, in any order.
class WebDataset final : public FileDataSet {
 public:
  static constexpr const char* kSummary =
      "tar shards in the layout of WebDataset";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"*.tar"}, {"train/*.tar"}}};
  using Options = WebDatasetOptions;

  explicit WebDataset(Options options);

 protected:
  std::optional<std::string> read_encoded(int64_t index) const override;

 private:
  struct Place {
    size_t shard = 0;
    TarEntry picture;
  };

  std::vector<std::string> shards_;
  std::vector<Place> places_;  ///< By Item::place.
};

}  // namespace kith
