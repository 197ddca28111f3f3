#pragma once

#include <cstdint>
#include <vector>

#include "kith/eval/embed.h"
#include "kith/models/embedding_net.h"
#include "kith/train/run_config.h"

namespace kith {

/// Loads the weights that a training starts from, `train.init_from` or
/// `model.weights`, if it has such, and says in the log which ones fit.
void load_start_weights(EmbeddingNet& net, const RunConfig& config);

/// Sets the head's linear layer from the whitening (kith/eval/whitening.h) that
/// `model.head.init` says, of what it is given for some of the candidates, as
/// Radenovic et al. (2019) start theirs: P as weight and -P m as bias. At most
/// `model.head.whiten_images` are drawn, by the seed. ConfigError if those are
/// no more than the dimensions of an embedding.
void whiten_head(EmbeddingNet& net, const DataSet& data,
                 const std::vector<int64_t>& candidates, uint64_t seed,
                 EmbedOptions options, Progress& progress);

}  // namespace kith
