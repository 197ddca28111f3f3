#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kith/eval/embed.h"

namespace kith {

/// embed() for more images than there is memory for: `take` is given the
/// embeddings of some thousand images at a time, on the CPU, in the order of
/// `indices`. Together they are what embed() gives. Of several ranks only the
/// first is given them.
///
/// The calls come one after another, but from threads of their own: the next
/// images are embedded meanwhile.
void embed_in_blocks(EmbeddingNet& net, const DataSet& data,
                     const std::vector<int64_t>& indices,
                     const EmbedOptions& options, Progress& progress,
                     const std::function<void(const Tensor&)>& take);

/// Writes them to a float32 .npy file [N, dim], which is there when it is
/// whole. DataError, which names the first such image, if an embedding is not
/// of finite numbers. Of several ranks the first writes, and all wait for it.
void embed_to_file(EmbeddingNet& net, const DataSet& data,
                   const std::vector<int64_t>& indices,
                   const EmbedOptions& options, Progress& progress,
                   const std::string& path);

/// Numbers in an embedding: the network's, or the whitening's.
int64_t embedding_dim(const EmbeddingNet& net, const EmbedOptions& options);

}  // namespace kith
