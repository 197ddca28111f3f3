#pragma once

#include "kith/core/tensor.h"

namespace kith {

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

}  // namespace kith
