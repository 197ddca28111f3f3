#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kith/core/registry.h"
#include "kith/core/tensor.h"

namespace kith {

/// What a loss is given: the whole batch, never a part of it.
struct LossInput {
  Tensor embeddings;  ///< [M, D] float32 or float64.
  Tensor labels;      ///< [M] int64, on the same device; any order and values.
  Tensor tuples;      ///< [T, 2|3] int64 positions, or undefined: all pairs.
};

struct LossOutput {
  /// Scalar, connected to the embeddings even where nothing contributes.
  Tensor value;
  /// What a user should know of the batch, such as rows without positives.
  std::vector<std::pair<std::string, double>> stats;
};

/// A training objective: a function of all embeddings of a batch.
class Loss {
 public:
  virtual ~Loss() = default;

  virtual LossOutput forward(const LossInput& input) const = 0;

  /// Whether the loss is defined on unit vectors: the model's head, or `kith
  /// loss`, normalises before it.
  virtual bool wants_unit() const { return true; }

  /// Widths of tuples it can take (2: pairs, 3: anchor, positive, negative);
  /// empty if it always uses the whole batch.
  virtual std::vector<int64_t> tuple_widths() const { return {}; }
};

using LossRegistry = Registry<Loss>;
LossRegistry& loss_registry();

/// Checks shapes, types and positions (c10::ValueError says what is wrong) and
/// runs the loss.
LossOutput compute_loss(const Loss& loss, const LossInput& input);

}  // namespace kith
