#pragma once

#include <string>

#include "kith/losses/loss.h"

namespace kith {

struct HistSizes {
  int64_t classes = 0;
  int64_t dim = 0;
  int64_t hidden = 0;
};

/// What HIST learns: theta1_weight [H, D], theta1_bias [H], bn1_weight [H],
/// bn1_bias [H], theta2_weight [C, H], theta2_bias [C], and, if wanted, means
/// [C, D] and log_vars [C, D].
struct HistParameters {
  HistSizes sizes;
  NamedTensors tensors;
};

/// Those that the context gives, or new ones: He-normal (fan_out) means and
/// log-variances, layers as LibTorch starts its linear ones. c10::ValueError if
/// it gives some but not all that are wanted, or others, or neither gives them
/// nor says how many classes there are.
HistParameters make_hist_parameters(const LossContext& context, int64_t hidden,
                                    bool means, bool log_vars);

/// Undefined if there is none of this name.
Tensor find_tensor(const NamedTensors& tensors, const std::string& name);

}  // namespace kith
