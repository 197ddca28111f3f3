#pragma once

#include "kith/models/embedding_net.h"
#include "kith/train/run_config.h"

namespace kith {

/// Loads the weights that a training starts from, `train.init_from` or
/// `model.weights`, if it has such, and says in the log which ones fit.
void load_start_weights(EmbeddingNet& net, const RunConfig& config);

}  // namespace kith
