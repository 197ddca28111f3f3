#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kith/losses/loss.h"
#include "kith/models/embedding_net.h"
#include "kith/train/optimizer.h"
#include "kith/train/run_config.h"

namespace kith {

/// How many layers lie between each of the network's weights and its embedding,
/// by name: 0 for those of the head, 1 for the backbone's last layer (see
/// Backbone::layer_of()). The last layer of a network of the user's own, whose
/// layers are those that numbered_layer() finds, has 0 too.
std::map<std::string, int64_t> layers_above(EmbeddingNet& net);

/// Patterns of what does not train (see EmbeddingNet::freeze): `train.freeze`,
/// and all but the head behind its pooling with `train.cached_features`.
/// ConfigError if that leaves nothing.
std::vector<std::string> frozen_patterns(const TrainOptions& train,
                                         EmbeddingNet& net);

/// Tells the optimiser the layers of the network, and the learning rates and
/// the weight decay that the loss wants for what it learns; the log, what
/// optimizer.layer_decay makes of the layers.
void set_groups(EmbeddingNet& net, const Loss& loss, Optimizer& optimizer);

/// Says in the log how much of the network trains, if not all of it does.
void tell_trained(const EmbeddingNet& net, const RunConfig& config);

}  // namespace kith
