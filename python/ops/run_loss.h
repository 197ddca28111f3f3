#pragma once

#include <memory>
#include <string>

#include "kith/losses/loss.h"

namespace kith::ops {

/// The arguments that `kith::loss` and `kith::_loss` begin with. Names of
/// parameters have commas between them.
inline constexpr const char* kArguments =
    "str name, str options, str parameter_names, Tensor[] parameters, "
    "Tensor embeddings, Tensor labels, *, Tensor? database=None, "
    "Tensor? database_labels=None, Tensor? self_index=None, "
    "Tensor? tuples=None, Tensor? pairs=None, Tensor? alphas=None, "
    "bool? normalize=None, int seed=0";
/// How many they are, and where among them tensors stand.
inline constexpr size_t kArgumentCount = 14;
inline constexpr size_t kParameters = 3;
inline constexpr size_t kEmbeddings = 4;
inline constexpr size_t kLabels = 5;
inline constexpr size_t kDatabase = 6;

/// The loss of this name; options are a map in YAML or JSON. c10::ValueError,
/// which is Python's ValueError, if the loss or an option is not known or a
/// value not allowed.
std::unique_ptr<Loss> make_loss(const std::string& name,
                                const std::string& options,
                                const LossContext& context);

/// A map of options, which come from arguments: errors name no file and line.
ConfigNode part_options(const std::string& name, const std::string& options);

}  // namespace kith::ops
