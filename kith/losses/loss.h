#pragma once

#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

#include "kith/core/registry.h"
#include "kith/core/tensor.h"
#include "kith/distributed/batch_lanes.h"
#include "kith/ops/mixed_pairs.h"

namespace kith {

/// Examples that a batch is compared with instead of with itself.
struct Database {
  Tensor embeddings;  ///< [C, D], of the batch's type and device.
  Tensor labels;      ///< [C] int64.
  /// [M] int64: which of them each example of the batch is, or -1. Undefined:
  /// none is.
  Tensor self;
  bool defined() const { return embeddings.defined(); }
};

/// What a loss is given: the whole batch, never a part of it.
struct LossInput {
  Tensor embeddings;  ///< [M, D] float32 or float64.
  Tensor labels;      ///< [M] int64, on the same device; any order and values.
  Tensor tuples;      ///< [T, 2|3|4] int64 positions, or undefined: all pairs.
  MixedPairs mixed = {};  ///< Virtual examples of SiMix, if they are given.
  uint64_t seed = 0;      ///< Of what the loss draws itself, as SiMix's alphas.
  Database database = {};  ///< If the batch is not its own.
  /// If ranks compute the loss together, all with the same input: only the
  /// gradient of a rank's own embeddings is asked of it. A loss that does not
  /// divide the work computes all of it. Null: this process alone.
  const BatchLanes* lanes = nullptr;
};

struct LossOutput {
  /// Scalar, connected to the embeddings even where nothing contributes.
  Tensor value;
  /// What a user should know of the batch, such as rows without positives.
  std::vector<std::pair<std::string, double>> stats;
};

/// What a loss is told beside its options.
struct LossContext {
  int64_t classes = 0;  ///< Of the training data.
  int64_t dim = 0;      ///< Of embeddings.
  uint64_t seed = 0;    ///< Of its parameters' first values.
  /// Values of its parameters by name, instead of random ones. They keep their
  /// type and device, and their shape says how many classes there are.
  NamedTensors given = {};
};

/// What a loss's class says of it, in its kTraits.
struct LossTraits {
  /// The miner that a training has unless its configuration names one; empty:
  /// none.
  const char* miner = "";

  /// An option's value with the tuples of a miner, unless it is set.
  struct WithMiner {
    const char* miner = nullptr;
    const char* option = "";
    const char* value = "";
  };
  WithMiner with_miner[4] = {};  ///< The first without a miner ends.
};

/// A training objective: a function of all embeddings of a batch,
///
///     RecallAtK loss({.k = {1, 2, 4}, .t2 = 0.05});
///     LossOutput out = loss(embeddings, labels);
///     out.value.backward();
///
/// What it learns itself, such as proxies, are its parameters as a module of
/// LibTorch: named_parameters() gives them and to(device) moves them.
class Loss : public torch::nn::Module {
 public:
  using Traits = LossTraits;

  /// The loss of a batch. Shapes, types, labels and positions are checked
  /// before (c10::ValueError says what is wrong), and that the value is finite
  /// after: a NaN or an infinity in the embeddings or in a parameter is a
  /// c10::ValueError with its place, a value beyond the type's range a
  /// RunError.
  LossOutput operator()(const Tensor& embeddings, const Tensor& labels) const {
    return (*this)(LossInput{embeddings, labels, /*tuples=*/{}});
  }
  LossOutput operator()(const LossInput& input) const;

  /// The same without the checks, which wait for the device: for an input that
  /// is right by construction, as a training's.
  LossOutput unchecked(const LossInput& input) const { return forward(input); }

  /// Whether the loss is defined on unit vectors: the model's head, or `kith
  /// loss`, normalises before it.
  virtual bool wants_unit() const { return true; }

  /// Whether a batch with one example a class teaches it nothing. Losses with
  /// a vector for each class compare examples with those instead.
  virtual bool needs_positives() const { return true; }

  /// Widths of tuples it can take (2: pairs, 3: anchor, positive, negative, 4:
  /// and a second negative); empty if it always uses the whole batch.
  virtual std::vector<int64_t> tuple_widths() const { return {}; }

  /// False if the gradient is by intention not the derivative of the value.
  virtual bool gradient_is_derivative() const { return true; }

  /// Whether it chooses pairs by their order in the batch.
  virtual bool depends_on_order() const { return false; }

  /// Whether it can take virtual examples (LossInput::mixed).
  virtual bool takes_mixed() const { return false; }

  /// The learning rate of one of its parameters, before the schedule; 0: that
  /// of the optimiser.
  virtual double parameter_lr(const std::string& /*name*/) const { return 0; }

  /// Whether the optimiser's weight decay holds for them too.
  virtual bool decays_parameters() const { return false; }

  /// How many classes it has parameters for: labels are then 0 to classes() - 1
  /// (the call checks). 0: labels are only names.
  virtual int64_t classes() const { return 0; }

  /// Whether it can compare the batch with others (LossInput::database).
  virtual bool takes_database() const { return false; }

 protected:
  virtual LossOutput forward(const LossInput& input) const = 0;
};

using LossRegistry = Registry<Loss, LossContext>;
LossRegistry& loss_registry();

}  // namespace kith
