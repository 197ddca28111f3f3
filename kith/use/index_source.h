#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kith/core/progress.h"
#include "kith/data/left_out.h"
#include "kith/index/index_info.h"
#include "kith/index/item_table.h"
#include "kith/index/rows.h"
#include "kith/models/embedding_net.h"
#include "kith/run/choose_checkpoint.h"

namespace kith {

class Communicator;

/// Where vectors for an index come from. What is empty is as usual.
struct IndexSourceOptions {
  /// Embeddings (.npy), a model (a run, a checkpoint, an export) for images,
  /// or another index.
  std::string source = {};
  /// With a model, or with `model`: which network of a run; see
  /// choose_checkpoint().
  std::string checkpoint = {};
  /// With a model: a folder (one folder a class, or images alone), a list
  /// (.csv) or a configuration (.yaml); usually what the run is evaluated with.
  std::string images = {};
  /// With a model: "train", "validation", "test" or "all"; usually all of
  /// `images`, or the run's evaluation split.
  std::string split = {};
  /// With a model, images that cannot be read: "stop" or "skip"; empty: as the
  /// configuration says. What is left out is in the log and in
  /// INDEX.left_out.csv.
  std::string on_broken = {};
  /// With embeddings: a file of paths or names, one per line; usually numbers.
  std::string ids = {};
  /// With embeddings: a file of classes, one per line, or a .npy of integers.
  std::string labels = {};
  /// With embeddings: the model that made them, so that images can be searched
  /// for.
  std::string model = {};
  /// Only the first so many numbers of the vectors, made unit vectors again: of
  /// a network that is trained with `model.head.nested`. 0: all.
  int64_t dim = 0;
  int64_t memory_mb = 1024;  ///< What takes more is read a block at a time.
  /// With a model: who embeds the images together; the first has the vectors.
  /// Null: this process alone.
  Communicator* ranks = nullptr;
};

/// An opened source. What its vectors are is known; the work is done by rows().
class IndexSource {
 public:
  virtual ~IndexSource() = default;

  const ItemTable& items() const { return items_; }
  int64_t dim() const { return dim_; }
  /// The model the vectors are from, an absolute path, and the hash of its
  /// weights; empty if they are not known.
  const std::string& model() const { return model_; }
  const std::string& model_hash() const { return model_hash_; }
  /// Which network of a run, as IndexInfo has it.
  const std::string& checkpoint() const { return checkpoint_; }
  const std::string& checkpoint_text() const { return checkpoint_text_; }
  /// Of another index.
  const std::optional<IndexThreshold>& threshold() const { return threshold_; }
  const std::string& pictures_root() const { return pictures_root_; }

  /// Images that cannot be read, and whether these are skipped.
  const std::vector<BrokenImage>& left_out() const { return left_out_; }
  bool skips_broken() const { return skips_broken_; }

  /// Unit vectors of all items, on the CPU, which are valid as long as this is.
  /// `scratch` is the path of a file for what does not fit in memory; who calls
  /// removes it. Of several ranks only the first gets any.
  virtual Rows rows(const std::string& scratch, Progress& progress) = 0;

 protected:
  void set_model(const std::string& path, const ChosenCheckpoint& checkpoint,
                 const EmbeddingNet& net);

  ItemTable items_;
  int64_t dim_ = 0;
  std::string model_;
  std::string model_hash_;
  std::string checkpoint_;
  std::string checkpoint_text_;
  std::optional<IndexThreshold> threshold_;
  std::string pictures_root_;
  std::vector<BrokenImage> left_out_;
  bool skips_broken_ = false;
};

/// Vectors without `ids` are named by numbers from `first_name` on. Throws
/// ConfigError for options that do not go with the source, and DataError if it
/// cannot be used.
std::unique_ptr<IndexSource> open_index_source(
    const IndexSourceOptions& options, c10::Device device,
    int64_t first_name = 0);

/// The kinds of source that are not another index.
std::unique_ptr<IndexSource> embedding_source(const IndexSourceOptions& options,
                                              int64_t first_name);
std::unique_ptr<IndexSource> image_source(const IndexSourceOptions& options,
                                          c10::Device device);

/// ConfigError if the file of an item is not below a folder, which must be
/// there. An empty one may have any.
void check_pictures_root(const ItemTable& items, const std::string& root);

/// ConfigError if vectors have no `dim` numbers.
void check_cut(const IndexSource& source, int64_t dim);

/// Unit vectors of the first `dim` numbers of each row, which is read when it
/// is needed. Undefined rows stay so.
Rows cut_rows(const Rows& rows, int64_t dim);

/// The same rows, which when they are read from first to last show how far it
/// is. Who is done with them finishes the progress.
Rows watched_rows(const Rows& rows, Progress& progress);

}  // namespace kith
