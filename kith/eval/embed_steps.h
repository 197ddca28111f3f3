#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "kith/eval/embed.h"

namespace kith {

// The steps of embed(), for those who do something else in between. None tells
// other ranks of an error; gradients are to be off.

/// How many images are loaded together. ConfigError if the network does not
/// take the descriptor's pictures.
int64_t images_together(EmbeddingNet& net, const EmbedOptions& options);

/// [0, dim] of the network.
Tensor no_rows(EmbeddingNet& net, const EmbedOptions& options);

struct ImageBatches {
  const std::vector<std::vector<int64_t>>& batches;  ///< This rank's.
  int64_t of_all = 0;                                ///< Images of all ranks.
};

using TakeRows = std::function<void(const Tensor& rows)>;

/// What the network gives of the descriptor's pictures, whole and before any
/// whitening, not checked: `take` is given [n, dim] of each batch, which a GPU
/// may still be at work on. The network is in evaluation mode meanwhile.
void embed_batches(EmbeddingNet& net, const DataSet& data,
                   const ImageBatches& images, const EmbedOptions& options,
                   const TakeRows& take);

/// The same of this rank's share of the images together, checked.
EmbeddedShare embed_raw(EmbeddingNet& net, const DataSet& data,
                        const std::vector<int64_t>& indices,
                        const EmbedOptions& options, Progress& progress);

/// The check in two halves, of which the first waits for nothing: [n] of rows
/// [n, dim], and the error if a row of these images is not right.
Tensor largest_of(const Tensor& rows);
void check_largest(const Tensor& largest, const DataSet& data,
                   const std::vector<int64_t>& indices,
                   const EmbedOptions& options);

/// Cuts the rows of these images to the descriptor's dimension and whitens
/// them, where that is wanted.
Tensor finish_embeddings(const Tensor& rows, const DataSet& data,
                         const std::vector<int64_t>& indices,
                         const EmbedOptions& options);

}  // namespace kith
