#pragma once

#include "kith/data/data_set.h"
#include "kith/eval/protocol.h"
#include "kith/models/embedding_net.h"
#include "kith/samplers/sampler.h"
#include "kith/train/run_config.h"
#include "kith/train/training_split.h"

namespace kith {

/// DataError if there is nothing to train on.
void check_has_images(const TrainingSplit& split, const RunConfig& config);

/// ConfigError if parts that are right by themselves do not go together.
void check_fit(const TrainOptions& train, const Sampler& sampler,
               const EmbeddingNet& net, const Communicator& ranks);

/// What would only be found after the first epochs, when the network is
/// evaluated: ConfigError or DataError. Warns of traps in the log.
void check_training(const RunConfig& config, const DataSet& data,
                    const Protocol& protocol, EmbeddingNet& net);

}  // namespace kith
