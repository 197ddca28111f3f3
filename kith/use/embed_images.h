#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kith/core/device.h"
#include "kith/core/progress.h"
#include "kith/data/data_set.h"
#include "kith/eval/embed.h"
#include "kith/run/checkpoint.h"
#include "kith/run/choose_checkpoint.h"

namespace kith {

/// A data set from a configuration file (its `data` section), a folder or a
/// list.
std::unique_ptr<DataSet> data_from_path(const std::string& path);

/// What a data set does with images that cannot be read: "stop" or "skip", as
/// its configuration says if `on_broken` is empty. ConfigError for other words.
void set_on_broken(DataSet& data, const std::string& on_broken);

/// All images below a folder. Warns of files that are none.
std::unique_ptr<DataSet> images_below(const std::string& folder);

/// How a model embeds images unless it is told otherwise: as its run's
/// configuration says for evaluation.
EmbedOptions usual_embedding(const LoadedModel& model);

/// Unit embeddings [N, dim] of image files, on the CPU: what an index of the
/// model is searched with.
Tensor embed_files(const LoadedModel& model,
                   const std::vector<std::string>& paths,
                   Progress& progress = silent_progress());

/// A whitening that is wanted: learnt from the training split, or read from a
/// file.
struct WhiteningChoice {
  bool learn = false;
  bool from_pairs = false;  ///< Learnt from images that match, or PCA.
  int64_t dim = 0;          ///< Of what is learnt; 0: all.
  std::string file = {};
};

/// What is wanted of descriptors. What is not given leaves the run's own.
struct DescriptorChoice {
  std::vector<double> scales = {};
  std::optional<int64_t> long_side = {};
  bool flip = false;  ///< True: with mirror images, whatever the run has.
  std::optional<int64_t> dim = {};
  WhiteningChoice whitening = {};

  void apply(DescriptorOptions& options) const;
};

/// Says in the log if descriptors are not whole embeddings, and whether the
/// network was trained for that. ConfigError if they cannot be.
void tell_cut(EmbeddingNet& net, const DescriptorOptions& options);

/// The whitening of unit descriptors that `choice` means, learnt from those
/// that the network makes with `options`, by all of its ranks; nothing if none
/// is wanted. DataError if the data have no training split to learn from.
std::optional<Whitening> make_whitening(const WhiteningChoice& choice,
                                        EmbeddingNet& net, const DataSet& data,
                                        EmbedOptions options,
                                        Progress& progress);

struct EmbedImagesOptions {
  std::string model = {};       ///< A run, a checkpoint or an export.
  std::string checkpoint = {};  ///< Of a run; see choose_checkpoint().
  std::string images = {};  ///< A folder, all images below it; a list (.csv)
                            ///< or a configuration (.yaml).
  std::string out = {};     ///< Float32 .npy [N, dim].
  std::string ids = {};     ///< The images' paths, one a line; empty: no file.
  /// Images that cannot be read: "stop" or "skip"; empty: as a configuration
  /// says. What is left out is listed in OUT.left_out.csv.
  std::string on_broken = {};
  int64_t batch = 256;
  DescriptorChoice descriptor = {};
  /// Who embeds them together; the first writes. Null: this process alone.
  Communicator* ranks = nullptr;
};

struct EmbeddedImages {
  ChosenCheckpoint checkpoint;  ///< The network that made them.
  int64_t images = 0;
  int64_t left_out = 0;
  int64_t dim = 0;
};

/// Writes the descriptors of images, in blocks: they need not fit in memory.
EmbeddedImages embed_images(const EmbedImagesOptions& options,
                            c10::Device device,
                            Progress& progress = silent_progress());

}  // namespace kith
