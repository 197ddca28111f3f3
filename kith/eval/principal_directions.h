#pragma once

#include <cstdint>
#include <string>

#include "kith/core/tensor.h"

namespace kith {

/// The directions in which vectors vary most, all in double on the CPU.
struct PrincipalDirections {
  Tensor mean;        ///< [D]
  Tensor directions;  ///< [dim, D], orthonormal rows by falling width.
  Tensor widths;      ///< [dim, 1] standard deviations along them.
};

/// Of vectors [N, D], with `dim` directions, 0 for D. The sign of a direction
/// is such that its entry of largest magnitude is positive. Computes in double,
/// on the CPU but for the covariance. DataError, which begins with `what`, if
/// the vectors vary in fewer than `dim` directions: N of them do in N - 1 at
/// most.
PrincipalDirections principal_directions(const Tensor& vectors, int64_t dim,
                                         const std::string& what);

}  // namespace kith
