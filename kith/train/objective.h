#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <c10/core/Device.h>

#include "kith/losses/loss.h"
#include "kith/miners/miner.h"
#include "kith/train/cross_batch_memory.h"
#include "kith/train/run_config.h"

namespace kith {

/// A batch as the objective sees it.
struct ObjectiveInput {
  Tensor embeddings;  ///< [M, D]
  Tensor labels;      ///< [M] int64, 0 to classes - 1
  /// With ManifoldMixup: an example is `share` of its own class and the rest of
  /// this one. Undefined without.
  Tensor other_labels = {};
  double share = 1.0;
  int64_t epoch = 0;
  int64_t step_in_epoch = 0;
  const BatchLanes* lanes = nullptr;  ///< LossInput::lanes
};

/// The loss that a run's configuration asks for, which `make` gives: with
/// `model.head.nested` a NestedLoss of one for each size.
std::shared_ptr<Loss> make_run_loss(
    const RunConfig& config, const LossContext& context,
    const std::function<std::shared_ptr<Loss>(const LossContext&)>& make);

/// What a run minimises: a loss with what stands between it and the batch, the
/// miner that chooses tuples and the memory of past batches.
class Objective {
 public:
  /// A loss for embeddings of `dim` numbers and, unless it is null, a miner;
  /// `config` says what goes with them. ConfigError if they do not fit
  /// together.
  Objective(const RunConfig& config, std::shared_ptr<Loss> loss,
            std::shared_ptr<Miner> miner, int64_t dim, c10::Device device);

  /// The same of the parts that the configuration describes.
  Objective(const RunConfig& config, const LossContext& context,
            c10::Device device);

  /// Value and statistics. With mixed labels (the study of Roth et al., ICML
  /// 2020, section H) share * L(labels) + (1 - share) * L(other labels), each
  /// on the tuples that its labels give.
  LossOutput compute(const ObjectiveInput& input) const;

  /// Puts a batch into the memory, once its step is done.
  void remember(const ObjectiveInput& input);

  const Loss& loss() const { return *loss_; }

  /// What the loss learns: "loss.<name>".
  const NamedTensors& parameters() const { return parameters_; }

  /// What a checkpoint keeps: the parameters and "memory.<name>".
  NamedTensors state() const;

 private:
  void check(const RunConfig& config) const;
  void check_whole_batch(const RunConfig& config, int64_t dim) const;
  LossOutput compute_with(const ObjectiveInput& input, const Tensor& labels,
                          int64_t entry) const;

  uint64_t seed_;
  std::shared_ptr<Loss> loss_;
  NamedTensors parameters_;
  std::shared_ptr<Miner> miner_;  ///< Null: the loss uses the whole batch.
  std::unique_ptr<CrossBatchMemory> memory_;  ///< Null: none.
  int64_t memory_after_ = 0;
};

}  // namespace kith
