#pragma once

#include "kith/core/tensor.h"
#include "kith/ops/rank_kernels.h"

namespace kith {

/// The kernels for tensors of this device.
const RankKernels& rank_kernels(const c10::Device& device);

/// [rows] Euclidean lengths in double.
Tensor row_lengths(const Tensor& rows);

/// The length of the longest row; 0 without rows. DataError names the row,
/// counted from `first`, of the `what` ("query", "item") that cannot be
/// compared: it has a NaN or an infinite value, or is so long or so short, and
/// not zero, that products in float32 overflow or vanish. One synchronisation.
double longest_row(const Tensor& rows, const char* what, int64_t first);

/// [rows] how far a float32 product of each row with a row of length 1 can be
/// from the exact one: a sum of D terms in any order is off by at most D units
/// of rounding times |x| |y|. Four more units cover the rounding of the exact
/// value and of the bounds themselves.
Tensor product_errors(const Tensor& rows);

/// similarity[i] = x[x_row[i]] . y[y_row[i]], summed in double and rounded to
/// float32; all on one device.
Tensor exact_similarities(const Tensor& x, const Tensor& y, const Tensor& x_row,
                          const Tensor& y_row);

}  // namespace kith
