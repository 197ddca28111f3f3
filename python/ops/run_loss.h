#pragma once

#include <memory>
#include <string>

#include "kith/losses/loss.h"

namespace kith::ops {

/// The arguments that every loss has, first in the schemas of `kith::_loss`
/// and of the operators named after losses.
inline constexpr const char* kInputs =
    "Tensor embeddings, Tensor labels, *, Tensor? database=None, "
    "Tensor? database_labels=None, Tensor? self_index=None, "
    "Tensor? tuples=None, Tensor? pairs=None, Tensor? alphas=None, "
    "bool? normalize=None, int seed=0";
/// How many they are, and where among them the differentiable ones stand.
inline constexpr size_t kInputCount = 10;
inline constexpr size_t kEmbeddings = 0;
inline constexpr size_t kDatabase = 2;

/// Options as YAML text. c10::ValueError, which is Python's ValueError, if the
/// loss or an option is not known or a value not allowed.
std::unique_ptr<Loss> make_loss(const std::string& name,
                                const std::string& options);

}  // namespace kith::ops
