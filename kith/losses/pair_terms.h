#pragma once

#include "kith/losses/row_loss.h"

namespace kith {

// Losses of an anchor and one positive against all negatives of the batch, each
// the mean over given pairs. `pairs` is [T, 2]: positions of anchors and of
// their positives, which have the same label.

/// The first two columns of the input's tuples. Without tuples, each example
/// that has a positive, and the next of its class in the batch, the first after
/// the last. c10::ValueError, with the loss's name, if a pair has two labels.
Tensor anchor_pairs(const LossInput& input, const char* loss);

/// log(1 + sum_{n in N_a} e^{e_a.e_n - e_a.e_p}), on the row engine.
Tensor npair_mean(const LossInput& input, const Tensor& pairs,
                  const RowLimits& limits);

/// log(1 + sum_{n in N_a} e^{4 t (x_a + x_p).y_n - 2 (1 + t) x_a.x_p}), where t
/// is the square of the tangent of `degrees`; x, y [M, D] may be the same
/// tensor. Pairs are taken M at a time: O(M^2) memory.
Tensor angular_mean(const Tensor& x, const Tensor& y, const Tensor& labels,
                    const Tensor& pairs, double degrees);

}  // namespace kith
