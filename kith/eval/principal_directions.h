#pragma once

#include <cstdint>
#include <string>

#include "kith/core/tensor.h"

namespace kith {

/// Mean of (x - about) (x - about)^T over rows x of [N, D]: [D, D] double on
/// the CPU. `about` is [D].
Tensor second_moment(const Tensor& x, const Tensor& about);

/// Mean of rows [N, D], [D] double on the device of `x`.
Tensor mean_row(const Tensor& x);

/// The eigenvectors of a covariance whose variances are data and no rounding.
struct Directions {
  Tensor rows;    ///< [R, D], orthonormal, by falling width.
  Tensor widths;  ///< [R, 1] standard deviations along them.
};

/// Of a covariance [D, D] in double on the CPU. The sign of a row is such that
/// its entry of largest magnitude is positive.
Directions directions_of(const Tensor& covariance);

/// All rows of directions_of(). DataError, which begins with `what`, if they
/// are fewer than `least`, of `vectors` vectors.
Tensor varying_directions(const Tensor& covariance, int64_t vectors,
                          int64_t least, const std::string& what);

/// Rows turned so that their entry of largest magnitude is positive.
Tensor with_fixed_signs(const Tensor& rows);

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
