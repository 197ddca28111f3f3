#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "kith/core/progress.h"
#include "kith/data/data_set.h"
#include "kith/eval/embed.h"
#include "kith/index/item_table.h"
#include "kith/index/rows.h"
#include "kith/train/checkpoint.h"

namespace kith {

/// Where vectors for an index come from: embeddings in a file, images through a
/// model, or another index. What they are is known when it is opened; the work
/// is done by rows().
class IndexSource {
 public:
  virtual ~IndexSource() = default;

  const ItemTable& items() const { return items_; }
  int64_t dim() const { return dim_; }
  /// The model the vectors are from, an absolute path, and the hash of its
  /// weights; empty if they are not known.
  const std::string& model() const { return model_; }
  const std::string& model_hash() const { return model_hash_; }

  /// Unit vectors of all items, on the CPU, which are valid as long as this is.
  /// `scratch` is the path of a file for what does not fit in memory; who calls
  /// removes it.
  virtual Rows rows(const std::string& scratch, Progress& progress) = 0;

 protected:
  void set_model(const std::string& path, const EmbeddingNet& net);

  ItemTable items_;
  int64_t dim_ = 0;
  std::string model_;
  std::string model_hash_;
};

/// What the commands that fill an index are told of a source.
struct SourceFlags {
  std::string source;
  std::string images;
  std::string split;
  std::string ids;
  std::string labels;
  std::string model;
  int64_t memory_mb = 1024;

  void add_to(CLI::App& command);

  /// Vectors without --ids are named by numbers from `first_name` on. Throws
  /// ConfigError for flags that do not go with the source.
  std::unique_ptr<IndexSource> open(c10::Device device,
                                    int64_t first_name = 0) const;

 private:
  std::unique_ptr<IndexSource> open_kind(c10::Device device,
                                         int64_t first_name) const;
};

/// The kinds of source that are not another index.
std::unique_ptr<IndexSource> embedding_source(const SourceFlags& flags,
                                              int64_t first_name);
std::unique_ptr<IndexSource> image_source(const SourceFlags& flags,
                                          c10::Device device);

/// All images below a folder. Warns of files that are none.
std::unique_ptr<DataSet> images_below(const std::string& folder);

/// The same rows, which when they are read from first to last show how far it
/// is. Who is done with them finishes the progress bar.
Rows watched(const Rows& rows);

/// How a model embeds images unless it is told otherwise: as its run's
/// configuration says for evaluation.
EmbedOptions usual_embedding(const LoadedModel& model);

}  // namespace kith
