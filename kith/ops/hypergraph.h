#pragma once

#include <functional>

#include "kith/core/tensor.h"

namespace kith {

// The pieces of the loss HIST (kith/losses/hist.h).

/// Squared Mahalanobis distances of a batch to the distributions of classes.
///
///     m_ic = sum_f (x_if - mu_cf)^2 / exp(v_cf)
///
/// with x and mu the rows of `embeddings` [M, D] and `means` [C, D] divided by
/// their norms, and v = `log_vars` [C, D] clamped to [0, 6]. Undefined
/// log_vars: all variances are 1. Returns [M, C].
///
/// The square is multiplied out into two matrix products: no M x C x D
/// differences. A distance is then off by a few roundings of 1, not of itself,
/// which softmax and exp do not see: both take differences of distances.
Tensor class_distances(const Tensor& embeddings, const Tensor& means,
                       const Tensor& log_vars);

/// [E] int64, ascending: the classes of a batch. On a GPU the host waits for
/// their number.
Tensor classes_in(const Tensor& labels);

/// [M, E]: whether example i is of class c.
Tensor membership(const Tensor& labels, const Tensor& classes);

/// The incidence matrix of semantic tuples (HIST): one hyperedge for each class
/// of the batch, which holds every example as far as it resembles the class.
///
///     H_ic = 1 if y_i = c, else exp(-alpha m_ic)
///
/// distances: m of all classes [M, C]; classes [E] those with an edge. Returns
/// [M, E].
Tensor semantic_tuples(const Tensor& distances, const Tensor& labels,
                       const Tensor& classes, double alpha);

/// How examples pass on what they know along hyperedges:
///
///     G = Dv^-1/2 H De^-1 H^T Dv^-1/2
///
/// with Dv and De the sums of the rows and columns of H [M, E]. Kept as
/// S = Dv^-1/2 H De^-1/2, of which G is S S^T: no M x M matrix is made.
class Hypergraph {
 public:
  /// No row or column of `incidence` may be zero.
  explicit Hypergraph(const Tensor& incidence);

  /// G y for y [M, F].
  Tensor spread(const Tensor& y) const;

 private:
  Tensor scaled_;  ///< S
};

/// The parameters of a network of two layers.
struct Hgnn {
  Tensor theta1_weight;  ///< [H, D]
  Tensor theta1_bias;    ///< [H]
  Tensor bn1_weight;     ///< [H]
  Tensor bn1_bias;       ///< [H]
  Tensor theta2_weight;  ///< [C, H]
  Tensor theta2_bias;    ///< [C]

  /// Logits [M, C] of a batch z [M, D]:
  ///
  ///     Z1 = LeakyReLU_0.1(BatchNorm(G Theta1 z)), logits = G Theta2 Z1
  ///
  /// `spread` multiplies by G [M, M]. Batch norm takes the statistics of the
  /// batch and keeps none: the network serves only in training.
  Tensor classify(const Tensor& z,
                  const std::function<Tensor(const Tensor&)>& spread) const;
};

}  // namespace kith
