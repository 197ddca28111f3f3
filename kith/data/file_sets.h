#pragma once

#include <string>

#include "kith/data/data_set.h"

namespace kith {

struct CsvSetOptions {
  std::string path = {};
  bool rotate_classes = false;

  void describe(OptionSet& set);
};

class CsvDataSet final : public DataSet {
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
class FolderDataSet final : public DataSet {
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
class OmlDataSet final : public DataSet {
 public:
  static constexpr const char* kSummary =
      "a list of Open Metric Learning, df.csv";
  static constexpr DataSetTraits kTraits = {
      .layouts = {{"df.csv"}, {"df_with_bboxes.csv"}}};
  using Options = OmlOptions;

  explicit OmlDataSet(Options options);
};

}  // namespace kith
