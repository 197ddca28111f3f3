#pragma once

#include <string>

#include "kith/losses/loss.h"
#include "kith/train/run_config.h"

namespace kith {

/// Sets `model.head.l2` of a complete configuration to what its loss is defined
/// on, unless the user has set it. Notes where the user has set what
/// check_loss_needs() may refuse.
void fit_head_to_loss(const ConfigNode& user, ConfigNode& tree);

/// The miner that the loss of this name is published with; empty: none.
std::string usual_miner(const std::string& loss);

/// Sets the options of the loss that are others with the tuples of the miner,
/// unless the user has set them.
void fit_loss_to_miner(const ConfigNode& user, ConfigNode& tree);

/// Before a training: ConfigError where the loss needs unit vectors or
/// positives, and the head or the sampler gives none. Says in the log where
/// embeddings are not the usual unit vectors.
void check_loss_needs(const RunConfig& config, const Loss& loss);

}  // namespace kith
