#pragma once

#include "kith/models/embedding_net.h"
#include "kith/train/run_config.h"

namespace kith {

/// Says in the log how much of the network trains, if not all of it does.
void tell_trained(const EmbeddingNet& net, const RunConfig& config);

}  // namespace kith
