#include "kith/models/mixup.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include <torch/torch.h>

#include "kith/core/error.h"

namespace kith {
namespace {

/// Standard normal (Box and Muller, 1958).
double draw_normal(Rng& rng) {
  const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
  return radius * std::cos(2 * std::numbers::pi * rng.uniform());
}

/// Gamma(a, 1) for a >= 1 (Marsaglia and Tsang, 2000).
double draw_gamma(double a, Rng& rng) {
  const double d = a - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = draw_normal(rng);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = 1 - rng.uniform();
    if (std::log(u) < x * x / 2 + d * (1 - v + std::log(v))) return d * v;
  }
}

/// The logarithm of Gamma(a, 1), which a small `a` does not let underflow:
/// Gamma(a) is Gamma(a + 1) U^(1 / a).
double draw_log_gamma(double a, Rng& rng) {
  const double above = std::log(draw_gamma(a + 1, rng));
  return above + std::log(1 - rng.uniform()) / a;
}

}  // namespace

double draw_beta(double a, double b, Rng& rng) {
  KITH_ASSERT(a > 0 && b > 0);
  const double of_a = draw_log_gamma(a, rng);
  const double of_b = draw_log_gamma(b, rng);
  return 1 / (1 + std::exp(of_b - of_a));
}

Mixup draw_mixup(double alpha, int64_t points, uint64_t seed) {
  KITH_ASSERT(points > 0);
  Rng rng(seed, Stream::kMixup);
  Mixup mixup;
  mixup.lambda = draw_beta(alpha, alpha, rng);
  mixup.point = static_cast<int64_t>(rng.below(static_cast<uint64_t>(points)));
  mixup.seed = seed;
  return mixup;
}

Tensor draw_partners(const Mixup& mixup, int64_t chunk, int64_t count) {
  std::vector<int64_t> partners(static_cast<size_t>(count));
  std::iota(partners.begin(), partners.end(), 0);
  Rng(mixup.seed, Stream::kMixup, {chunk}).shuffle(partners);
  return torch::tensor(partners, torch::kLong);
}

Tensor Mixing::operator()(int64_t here, const Tensor& x) const {
  if (here != point) return x;
  // x comes first, for the result takes the layout in memory of the first.
  return torch::lerp(x, x.index_select(0, partner), 1 - lambda);
}

}  // namespace kith
