#pragma once

#include <memory>
#include <optional>

#include "kith/losses/loss.h"

namespace kith {

/// Whether a loss is given unit vectors: as the caller asks, or else where it
/// is defined on them. The one rule of `kith loss`, of the operators for Python
/// and of the head of a network that is trained.
bool takes_unit(const Loss& loss, std::optional<bool> asked = {});

/// The loss of a section as it is for two classes in two dimensions: to ask
/// what it needs before there are data and a network.
std::unique_ptr<Loss> example_loss(const ConfigNode& section);

}  // namespace kith
