#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kith/core/registry.h"
#include "kith/data/image_list.h"
#include "kith/data/left_out.h"
#include "kith/image/image.h"
#include "kith/image/orientation.h"

namespace kith {

/// What the publication of a data set says of its usual retrieval split; 0 is
/// a number that it does not say.
struct PublishedCounts {
  int64_t train_images = 0;
  int64_t train_classes = 0;
  int64_t test_images = 0;
  int64_t test_classes = 0;
  const char* source = "";  ///< Where the numbers are from.

  struct List {
    const char* name = nullptr;
    int64_t images = 0;
  };
  List lists[4] = {};  ///< Of ImageList::lists; the first without name ends.
};

/// What a data set's class says of it, in its kTraits.
struct DataSetTraits {
  /// A folder with all files of a row holds the data set, for open_data_set;
  /// "*.tar" is any file with this end in a folder without folders.
  const char* layouts[4][4] = {};
  /// The protocol that results are published with.
  const char* protocol = "standard";
  /// The k of Recall@k that publications print.
  const char* recall_at = "1,2,4,8";
  /// Of the pictures, "grey" or "rgb", where it is known without them.
  const char* colour = "auto";
  /// What the list should count, for data sets known from the literature.
  std::optional<PublishedCounts> published = {};
};

/// Options of the section `data` beside those of the data set.
struct DataOptions {
  std::string on_broken = "stop";  ///< Or "skip".

  void describe(OptionSet& set);
};

/// An image of a data set cannot be read. The message says what to do too.
class BrokenImageError : public DataError {
 public:
  explicit BrokenImageError(const std::string& problem);

  /// What is wrong with it alone.
  const std::string& problem() const { return problem_; }

 private:
  std::string problem_;
};

/// Training classes that a data set keeps apart, as the options `validation`,
/// `folds` and `fold` of a training say it.
struct HeldOut {
  double share = 0;
  int64_t folds = 0;
  int64_t fold = 1;

  bool operator==(const HeldOut&) const = default;
};

/// A list of labelled images that can be loaded one by one.
class DataSet {
 public:
  using Traits = DataSetTraits;

  virtual ~DataSet() = default;

  const ImageList& list() const { return list_; }

  const DataSetTraits& traits() const { return traits_; }

  /// Makes the last `share` of the training classes the validation split.
  void hold_out_classes(double share) {
    kith::hold_out_classes(list_, share);
    held_out_ = {.share = share};
  }

  /// Makes fold number `fold`, from 1, the validation split.
  void hold_out_fold(int64_t folds, int64_t fold) {
    kith::hold_out_fold(list_, folds, fold);
    held_out_ = {.folds = folds, .fold = fold};
  }

  const HeldOut& held_out() const { return held_out_; }

  /// Whether images that cannot be read are to be left out, as `on_broken` says
  /// it. Someone has to find them first: leave_out_broken() in check.h.
  bool skips_broken() const { return skips_broken_; }
  void skip_broken(bool skip) { skips_broken_ = skip; }

  /// Leaves images out of the list, by their positions in it as it is; called
  /// once, after classes were held out. DataError if a position holds a file of
  /// another name: the list is not of these data.
  void leave_out(std::vector<BrokenImage> images);

  const std::vector<BrokenImage>& left_out() const { return left_out_; }

  /// The `data:` section that makes this data set: its name and all its
  /// options. Only a name and `made: in C++` if its class is not registered or
  /// did not say of which options it was made.
  ConfigNode section() const;

  /// The picture at a position of the list: cropped to its box, which counts
  /// pixels as they are stored, then turned as its EXIF says, then as its item.
  /// Safe to call from several threads. Throws BrokenImageError naming the
  /// file, and ConfigError for a position that the list does not have.
  Image load(int64_t index) const;

  /// Who may take the bytes of a file instead of having it decoded; `name` is
  /// for messages. Throws DataError as decode_image() does.
  using TakeFile = std::function<bool(std::span<const uint8_t> bytes,
                                      const std::string& name)>;

  /// The same, but a file that would be decoded and nothing else is offered to
  /// `take` first. Nothing if it takes it.
  std::optional<Image> load_unless(int64_t index, const TakeFile& take) const;

 protected:
  explicit DataSet(const DataSetTraits& traits = {}, ImageList list = {})
      : list_(std::move(list)), traits_(traits) {}

  const Item& item(int64_t index) const {
    return list_.items.at(static_cast<size_t>(index));
  }

  /// For the constructor of a class that is registered: the options it was
  /// made of, so that the configuration of a run on it is whole.
  template <class Options>
  void made_of(const Options& options) {
    options_ = write_options(options);
  }

  /// The picture as stored or drawn. Default: decodes the file at item.path.
  virtual StoredImage read(int64_t index) const;

  /// The file that read() decodes; nothing if read() does anything else, as in
  /// this class itself. FileDataSet has one.
  virtual std::optional<std::string> read_encoded(int64_t index) const;

  ImageList list_;
  DataSetTraits traits_;

 private:
  friend std::unique_ptr<DataSet> make_data_set(const ConfigNode& section);

  HeldOut held_out_;
  bool skips_broken_ = false;
  std::vector<BrokenImage> left_out_;
  ConfigNode options_;  ///< Null: not known.
};

/// A data set whose pictures are files as they lie at item.path, or where
/// read_encoded() finds them.
class FileDataSet : public DataSet {
 protected:
  using DataSet::DataSet;

  StoredImage read(int64_t index) const final;
  std::optional<std::string> read_encoded(int64_t index) const override;
};

/// A data set of the files in a list that a program has made itself:
///
///     ListDataSet data({.items = {{.path = "a.jpg", .label = 0},
///                                 {.path = "b.jpg", .label = 1}}});
class ListDataSet final : public FileDataSet {
 public:
  explicit ListDataSet(ImageList list) : FileDataSet({}, std::move(list)) {}
};

using DataSetRegistry = Registry<DataSet>;
DataSetRegistry& data_set_registry();

/// A `data:` section in which every option is present. `on_broken` is there
/// only if it is not the usual one: sections that were written before it was
/// known are the same.
ConfigNode complete_data_section(const ConfigNode& section);

/// Makes the data set of a `data:` section. Warns when training classes occur
/// in the test split too.
std::unique_ptr<DataSet> make_data_set(const ConfigNode& section);

/// The protocol of an evaluation that names none: the one that the data set is
/// published with, or "standard".
std::string usual_protocol(const std::string& data_set);

/// The colour of the pictures of a data set that knows it without them, "grey"
/// or "rgb"; "auto" for all others.
std::string usual_colour(const std::string& data_set);

/// The data set at `path`: a list is `csv` (`oml` if it is named as OML's), a
/// folder with a dataset.csv is `csv`, one in a published layout that data set,
/// any other `folder`. ConfigError if a folder fits several layouts.
std::unique_ptr<DataSet> open_data_set(const std::string& path);

/// Files without classes, all in the test split.
std::unique_ptr<DataSet> make_file_set(const std::vector<std::string>& paths);

}  // namespace kith
