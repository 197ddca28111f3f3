#pragma once

#include <vector>

#include "kith/eval/embed.h"

namespace kith {

// The two steps of embed(), for those who do something else in between. Neither
// tells other ranks of an error; gradients are to be off.

/// This rank's share of the images, whole and before any whitening: what the
/// network gives of the descriptor's pictures, checked.
EmbeddedShare embed_raw(EmbeddingNet& net, const DataSet& data,
                        const std::vector<int64_t>& indices,
                        const EmbedOptions& options, Progress& progress);

/// Cuts the rows of these images to the descriptor's dimension and whitens
/// them, where that is wanted.
Tensor finish_embeddings(const Tensor& rows, const DataSet& data,
                         const std::vector<int64_t>& indices,
                         const EmbedOptions& options);

}  // namespace kith
