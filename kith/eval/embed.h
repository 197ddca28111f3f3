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
#include "kith/eval/whitening.h"
#include "kith/models/embedding_net.h"

namespace kith {

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
};

/// Embeddings of images of a data set, [N, dim] float32 on the network's
/// device, in evaluation mode (which is undone afterwards). They are what the
/// network gives for its own input, or as `descriptor` says; with a whitening,
/// made unit and whitened. ConfigError if the backbone does not take pictures
/// of the size that is asked for. RunError names the first image whose
/// embedding has a NaN or an infinite value, or is all zero and so has no
/// direction.
Tensor embed(EmbeddingNet& net, const DataSet& data,
             const std::vector<int64_t>& indices, const EmbedOptions& options,
             Progress& progress);

}  // namespace kith
