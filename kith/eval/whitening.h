#pragma once

#include <cstdint>
#include <string>

#include "kith/core/tensor.h"

namespace kith {

class Communicator;

/// Whitening of descriptors: x becomes y / |y|, y = P (x - m), with the mean m
/// of some descriptors. Fewer rows of P reduce the dimension. Two ways to P:
///
/// - PCA (Jegou and Chum, 2012): with the covariance V diag(lambda) V^T of the
///   descriptors, P = diag(lambda)^(-1/2) V^T, rows by falling lambda.
/// - From matching pairs (Mikolajczyk and Matas, 2007; Radenovic et al., 2019,
///   "learned whitening"): with the mean S = L L^T of (q - p) (q - p)^T over
///   matching descriptors q and p, and the eigenvectors V of the covariance of
///   L^(-1) (x - m), P = V^T L^(-1), rows by falling eigenvalue. What differs
///   between matching images is made equal in all directions, and those in
///   which others differ most come first. As in the published code, all
///   descriptors stand for pairs that do not match, and m is the mean of the
///   queries q.
class Whitening {
 public:
  /// From descriptors [N, D], normalised as those that apply() is given later;
  /// `dim` rows of P, 0 for D. The sign of a row is such that its entry of
  /// largest magnitude is positive. Computes in double, on the CPU but for the
  /// covariance. DataError if the descriptors vary in fewer than `dim`
  /// directions: N of them do in N - 1 at most.
  static Whitening learn(const Tensor& descriptors, int64_t dim = 0);

  /// From descriptors [N, D] and the rows [P, 2] (int64) of those that match,
  /// the query first; for the rest as learn(). DataError also if matching ones
  /// differ in fewer directions than all vary in.
  static Whitening learn_from_pairs(const Tensor& descriptors,
                                    const Tensor& pairs, int64_t dim = 0);

  /// Reads what save() wrote. DataError naming the file if it is something
  /// else, or not for descriptors of `input_dim` numbers.
  static Whitening load(const std::string& path, int64_t input_dim);

  /// A .safetensors file with `mean` [D] and `projection` [dim, D].
  void save(const std::string& path) const;

  /// What each rank has learnt of the same descriptors becomes that of the
  /// first: rounding may differ between processors.
  void take_from_first(Communicator& ranks);

  int64_t input_dim() const;
  int64_t dim() const;
  const Tensor& mean() const { return mean_; }
  const Tensor& projection() const { return projection_; }

  /// [N, D] -> [N, dim], unit rows, in the type and on the device of `x`.
  Tensor apply(const Tensor& x) const;

 private:
  Whitening(Tensor mean, Tensor projection);

  Tensor mean_;        ///< [D] double, on the CPU.
  Tensor projection_;  ///< [dim, D] double, on the CPU.
};

}  // namespace kith
