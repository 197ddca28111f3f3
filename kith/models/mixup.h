#pragma once

#include <cstdint>

#include "kith/core/rng.h"
#include "kith/core/tensor.h"

namespace kith {

/// What one step of manifold mixup (Verma et al., ICML 2019) draws. At one
/// point of the network the activations h of every picture i are mixed with
/// those of a partner j,
///
///     h_i <- lambda h_i + (1 - lambda) h_j,   lambda ~ Beta(alpha, alpha),
///
/// and what comes out belongs to the classes of both: the loss of the step is
/// lambda L(x, y_i) + (1 - lambda) L(x, y_j).
struct Mixup {
  double lambda = 1.0;  ///< Weight of the picture itself, in [0, 1].
  int64_t point = 0;    ///< Of Backbone::mix_points().
  uint64_t seed = 0;    ///< Of the partners.
};

/// lambda and the point, one of `points`, each as likely. alpha > 0.
Mixup draw_mixup(double alpha, int64_t points, uint64_t seed);

/// Partners of the `count` pictures of a chunk among themselves: a permutation
/// of 0 .. count - 1, in which a picture may be its own partner. [count] int64
/// in host memory. Depends on the seed and the chunk's number alone.
Tensor draw_partners(const Mixup& mixup, int64_t chunk, int64_t count);

/// Beta(a, b) distributed, a, b > 0.
double draw_beta(double a, double b, Rng& rng);

/// Mixing as a backbone is told of it. The default changes nothing.
struct Mixing {
  double lambda = 1.0;
  int64_t point = -1;  ///< None.
  Tensor partner;      ///< [N] int64, where the activations are.

  /// What goes on from a point, given what comes to it, [N, ...]. Elsewhere
  /// than at its own point that is x itself.
  Tensor operator()(int64_t here, const Tensor& x) const;
};

}  // namespace kith
