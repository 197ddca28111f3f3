#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kith/core/progress.h"
#include "kith/core/tensor.h"
#include "kith/data/cache.h"
#include "kith/data/data_set.h"
#include "kith/data/loader.h"
#include "kith/eval/descriptor.h"
#include "kith/eval/embed_times.h"
#include "kith/eval/whitening.h"
#include "kith/models/embedding_net.h"

namespace kith {

class Communicator;

struct EmbedOptions {
  int64_t batch = 256;
  LoaderOptions loader;
  ImageCache* cache = nullptr;  ///< Of decoded images; null: none.
  DescriptorOptions descriptor = {};
  const Whitening* whitening = nullptr;  ///< Of unit descriptors; null: none.
  bool pooled = false;  ///< What the head's linear layer is given, instead.
  std::string network = "the model";  ///< How errors name it.
  /// Makes of a picture, as the network would see it, another of the same
  /// size; with the image's position in the list. Empty: none.
  std::function<Image(const Image&, int64_t)> change = {};
  /// Who embeds the images together, all with the same network; null: this
  /// process alone.
  Communicator* ranks = nullptr;
  EmbedTimes* times = nullptr;  ///< What gets the times; null: nothing.
};

/// Embeddings of images of a data set, [N, dim] float32 on the network's
/// device, in evaluation mode (which is undone afterwards). They are what the
/// network gives for its own input, or as `descriptor` says; with a whitening,
/// made unit and whitened. ConfigError if the backbone does not take pictures
/// of the size that is asked for. RunError names the first image whose
/// embedding has a NaN or an infinite value, or is all zero and so has no
/// direction.
///
/// Several ranks load and embed whole batches each, and all get the embeddings
/// of all images; on the CPU the same bits as one rank alone. What one of them
/// throws, also from `progress`, is a RankError on the others.
Tensor embed(EmbeddingNet& net, const DataSet& data,
             const std::vector<int64_t>& indices, const EmbedOptions& options,
             Progress& progress);

/// Embeddings of neighbours among some images.
struct EmbeddedShare {
  Tensor rows;        ///< [n, dim]
  int64_t first = 0;  ///< Place of the first one in `indices`.
};

/// The same, but a rank keeps its own rows only: [N, dim] need not fit in the
/// memory of one. With a whitening, which is applied to other blocks of rows
/// then, the last bits may differ from embed()'s.
EmbeddedShare embed_share(EmbeddingNet& net, const DataSet& data,
                          const std::vector<int64_t>& indices,
                          const EmbedOptions& options, Progress& progress);

}  // namespace kith
