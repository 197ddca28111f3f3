#pragma once

#include <vector>

#include "kith/core/progress.h"
#include "kith/core/tensor.h"
#include "kith/data/cache.h"
#include "kith/data/data_set.h"
#include "kith/eval/evaluate.h"
#include "kith/eval/protocol.h"
#include "kith/models/embedding_net.h"

namespace kith {

struct EmbedOptions {
  int64_t batch = 256;
  LoaderOptions loader;
  ImageCache* cache = nullptr;  ///< Of decoded images; null: none.
};

/// Embeddings of images of a data set, [N, dim] float32 on the network's
/// device, in evaluation mode (which is undone afterwards).
Tensor embed(EmbeddingNet& net, const DataSet& data,
             const std::vector<int64_t>& indices, const EmbedOptions& options,
             Progress& progress);

/// A split of a data set under a protocol, embedded.
struct EmbeddedSplit {
  QuerySets sets;
  Tensor embeddings;             ///< Of every image in a set, once.
  std::vector<int64_t> rows_of;  ///< Their positions in the list.
  Scored scored;
};

/// Embeds queries and gallery. Throws DataError if either is empty.
EmbeddedSplit embed_split(EmbeddingNet& net, const DataSet& data, Split split,
                          const Protocol& protocol, const EmbedOptions& options,
                          Progress& progress);

}  // namespace kith
