#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kith/data/augment.h"
#include "kith/data/data_set.h"
#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/models/embedding_net.h"
#include "kith/samplers/sampler.h"
#include "kith/train/optimizer.h"
#include "kith/train/part_choice.h"
#include "kith/train/run_config.h"
#include "kith/train/schedule.h"

namespace kith {

/// What a training is made of, for one that is composed in C++:
///
///     TrainerParts{.net = EmbeddingNet::make<Convnet>(...),
///                  .loss = part<RecallAtK>({.t2 = 0.05}),
///                  .sampler = part<ClassBalancedSampler>({.batch = 80}),
///                  .train = {.epochs = 25}}
///
/// A part is given by its options or as an object. Only the network is needed:
/// what is left out is what a configuration has that leaves it out. Two options
/// count as left out when they have their default: `eval.protocol`, which the
/// data set decides, and an option of a loss that its miner decides, as `reg`
/// of `snr` (a loss that is an object is taken as it is).
///
/// Held-out classes are those of the data set (DataSet::hold_out_classes()):
/// `train` need not say them.
struct TrainerParts {
  std::shared_ptr<EmbeddingNet> net = {};
  PartChoice<Loss, LossContext> loss = {};
  /// Left out: the one that the loss is published with, if there is one;
  /// nullptr: none, the loss sees the whole batch.
  PartChoice<Miner> miner = {};
  PartChoice<Sampler, SamplerInput> sampler = {};
  std::vector<PartChoice<Augmentation>> augment = {};
  PartChoice<Optimizer, NamedTensors> optimizer = {};
  PartChoice<Schedule> schedule = {};
  TrainOptions train = {};
  EvalOptions eval = {};
  LogOptions log = {};
};

/// Parts and the configuration that goes with them.
struct Training {
  RunConfig config;
  TrainerParts parts;
};

/// The parts that a complete configuration describes. The network has the
/// weights that `train.seed` gives it; those of a file are not loaded.
Training make_training(const RunConfig& config);

/// Parts with those that were left out, and the configuration that says of
/// them what one can say, for a run in `folder`. If all of them are registered
/// and given by their options, it is whole: the run is as good as one that was
/// trained from a file. ConfigError without a network, or if options are out
/// of range.
Training complete_training(TrainerParts parts, const DataSet& data,
                           const std::string& folder);

}  // namespace kith
