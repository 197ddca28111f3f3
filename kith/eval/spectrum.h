#pragma once

#include <cstdint>
#include <vector>

#include "kith/eval/scored.h"

namespace kith {

/// Singular values of a matrix from its Gram matrix [D, D] (symmetric, double),
/// largest first, divided by their sum. Those that double precision cannot
/// tell from zero are zero. All NaN for a matrix of zeros.
std::vector<double> spectrum_of_gram(const Tensor& gram);

/// Normalised singular values of the items' matrix [N, D], not centred:
/// min(N, D) numbers with sum 1. Computed once for a set.
const std::vector<double>& spectrum(const ScoredSet& set);

/// The values of a spectrum that are above 1e-6 of its largest: the others are
/// what the rounding of float32 leaves of directions without data.
std::vector<double> occupied_spectrum(const std::vector<double>& spectrum);

/// Mean over classes of two items or more of the normalised singular values of
/// the class's own rows; a class with fewer than the longest counts zeros for
/// those it does not have. At most `length` numbers; empty without such a
/// class. Classes are read in groups that fit the memory, one whole class at
/// least.
std::vector<double> class_spectrum(const ScoredSet& set, int64_t length);

/// KL(uniform || s) in nats, s = the spectrum without its `dropped` largest
/// values, normalised again; infinite if one of them is zero.
double spectral_decay(const std::vector<double>& spectrum, int64_t dropped);

}  // namespace kith
