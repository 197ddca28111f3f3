#pragma once

#include <memory>
#include <string>

#include "kith/losses/loss.h"

namespace kith {

/// A loss from YAML, such as "{name: contrastive, neg_margin: 2}".
std::unique_ptr<Loss> make_loss(const std::string& yaml,
                                const LossContext& context = {});

struct LossGradient {
  double value = 0;
  Tensor gradient;         ///< Of the embeddings; undefined if not connected.
  bool connected = false;  ///< Whether the value depends on the embeddings.
};

/// Value and gradient. The input's embeddings are not changed.
LossGradient differentiate(const Loss& loss, const LossInput& input);

/// The same with the rows of the embeddings normalised first; the gradient is
/// that of the rows before.
LossGradient differentiate_normalized(const Loss& loss, const LossInput& input);

/// The same input on another device.
LossInput moved_to(LossInput input, const at::Device& device);

}  // namespace kith
