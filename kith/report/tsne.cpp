#include "kith/report/tsne.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/Parallel.h>

#include "kith/core/error.h"

namespace kith {
namespace {

constexpr size_t kLeastPoints = 4;
constexpr double kExaggeration = 12;
// Sums are split into this many, which a processor adds at once. The number is
// fixed, and with it the order.
constexpr size_t kLanes = 8;

double sum_lanes(const std::array<double, kLanes>& lanes) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

/// exp(-beta d) over the others of a point, with d from the nearest: the
/// shift keeps the largest at 1. Returns the perplexity of the distribution.
double fill_row(const std::vector<double>& distances, size_t self, double beta,
                double* row) {
  double sum = 0, weighted = 0;
  for (size_t j = 0; j < distances.size(); ++j) {
    row[j] = j == self ? 0.0 : std::exp(-beta * distances[j]);
    sum += row[j];
    weighted += row[j] * distances[j];
  }
  for (size_t j = 0; j < distances.size(); ++j) row[j] /= sum;
  return std::exp(std::log(sum) + beta * weighted / sum);
}

/// The conditional probabilities of a point, by bisection of the width.
void conditional_row(const float* similarities, size_t count, size_t self,
                     double perplexity, double* row) {
  std::vector<double> distances(count);
  double nearest = std::numeric_limits<double>::infinity();
  for (size_t j = 0; j < count; ++j) {
    distances[j] = std::max(0.0, 2.0 - 2.0 * similarities[j]);
    if (j != self) nearest = std::min(nearest, distances[j]);
  }
  for (double& distance : distances) distance -= nearest;
  constexpr int kSteps = 100;
  constexpr double kMost = 1e12;  // beyond it rounding is all there is
  double low = 0, high = kMost, beta = 1;
  for (int i = 0; i < kSteps; ++i) {
    const double reached = fill_row(distances, self, beta, row);
    if (std::abs(reached - perplexity) < 1e-9 * perplexity) return;
    (reached > perplexity ? low : high) = beta;
    // By factors as long as nothing is known of the other end.
    beta = high == kMost ? std::min(2 * beta, kMost) : (low + high) / 2;
  }
}

/// Coordinates apart, which the inner loops want.
struct Places {
  std::vector<double> x, y;

  explicit Places(const std::vector<PlanePoint>& points) {
    for (const PlanePoint& point : points) {
      x.push_back(point[0]);
      y.push_back(point[1]);
    }
  }
  size_t size() const { return x.size(); }
};

/// Calls visit(i) for every point, on all cores: rows do not depend on one
/// another.
template <class Visit>
void for_each_point(size_t count, const Visit& visit) {
  at::parallel_for(0, static_cast<int64_t>(count), 16,
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) {
                       visit(static_cast<size_t>(i));
                     }
                   });
}

/// What acts on a point: attraction sum p w d, repulsion sum w^2 d, and its
/// share sum w of the normaliser, with w = 1 / (1 + |d|^2).
struct Forces {
  double attract_x, attract_y, repel_x, repel_y, weight;
};

Forces forces_on(const Places& places, const double* p, size_t i) {
  std::array<double, kLanes> ax{}, ay{}, rx{}, ry{}, weight{};
  const double x = places.x[i], y = places.y[i];
  const auto add = [&](size_t j, size_t lane) {
    const double dx = x - places.x[j], dy = y - places.y[j];
    const double w = 1.0 / (1.0 + dx * dx + dy * dy);
    const double pull = p[j] * w, push = w * w;
    ax[lane] += pull * dx;
    ay[lane] += pull * dy;
    rx[lane] += push * dx;
    ry[lane] += push * dy;
    weight[lane] += w;
  };
  const size_t count = places.size();
  size_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) add(j + lane, lane);
  }
  for (size_t lane = 0; j < count; ++j, ++lane) add(j, lane);
  // Its own weight is 1, and its own forces are 0.
  return {sum_lanes(ax), sum_lanes(ay), sum_lanes(rx), sum_lanes(ry),
          sum_lanes(weight) - 1.0};
}

/// A step per coordinate, larger where the gradient keeps its sign (Jacobs,
/// 1988), with momentum.
class Descent {
 public:
  explicit Descent(size_t count)
      : speed_(count, PlanePoint{0, 0}), gain_(count, PlanePoint{1, 1}) {}

  void step(const std::vector<PlanePoint>& gradient, double exaggeration,
            double momentum, std::vector<PlanePoint>& map) {
    // As large as the attraction allows, whose curvature is about 4 x
    // exaggeration / N (Belkina et al., Nature Communications 2019).
    const double rate = static_cast<double>(map.size()) / (4 * exaggeration);
    PlanePoint mean{0, 0};
    for (size_t i = 0; i < map.size(); ++i) {
      for (size_t c = 0; c < 2; ++c) {
        double& gain = gain_[i][c];
        const bool turned = gradient[i][c] * speed_[i][c] > 0;
        gain = turned ? std::max(0.01, 0.8 * gain) : gain + 0.2;
        speed_[i][c] = momentum * speed_[i][c] - rate * gain * gradient[i][c];
        map[i][c] += speed_[i][c];
        mean[c] += map[i][c] / static_cast<double>(map.size());
      }
    }
    for (PlanePoint& point : map) {
      for (size_t c = 0; c < 2; ++c) point[c] -= mean[c];
    }
  }

 private:
  std::vector<PlanePoint> speed_;
  std::vector<PlanePoint> gain_;
};

/// The places around their mean, so small that no point holds another back;
/// empty if they are all one.
std::vector<PlanePoint> small_start(const std::vector<PlanePoint>& start) {
  constexpr double kSpread = 1e-4;
  PlanePoint mean{0, 0};
  for (const PlanePoint& point : start) {
    for (size_t c = 0; c < 2; ++c) {
      mean[c] += point[c] / static_cast<double>(start.size());
    }
  }
  double squares = 0;  // along the first axis, the wider one
  for (const PlanePoint& point : start) {
    squares += (point[0] - mean[0]) * (point[0] - mean[0]);
  }
  const double spread = std::sqrt(squares / static_cast<double>(start.size()));
  const bool one_place = std::all_of(
      start.begin(), start.end(),
      [&start](const PlanePoint& point) { return point == start.front(); });
  if (one_place || !(spread > 0) || !std::isfinite(spread)) return {};
  std::vector<PlanePoint> places = start;
  for (PlanePoint& point : places) {
    for (size_t c = 0; c < 2; ++c) {
      point[c] = kSpread * (point[c] - mean[c]) / spread;
    }
  }
  return places;
}

}  // namespace

std::vector<double> tsne_affinities(const std::vector<float>& similarities,
                                    size_t count, double perplexity) {
  KITH_ASSERT(similarities.size() == count * count);
  std::vector<double> conditional(count * count);
  for_each_point(count, [&](size_t i) {
    conditional_row(similarities.data() + i * count, count, i, perplexity,
                    conditional.data() + i * count);
  });
  std::vector<double> joint(count * count);
  const double scale = 0.5 / static_cast<double>(count);
  for_each_point(count, [&](size_t i) {
    for (size_t j = 0; j < count; ++j) {
      joint[i * count + j] =
          scale * (conditional[i * count + j] + conditional[j * count + i]);
    }
  });
  return joint;
}

double tsne_divergence(const std::vector<double>& affinities,
                       const std::vector<PlanePoint>& map) {
  const size_t count = map.size();
  const auto weight = [&](size_t i, size_t j) {
    const double dx = map[i][0] - map[j][0], dy = map[i][1] - map[j][1];
    return 1.0 / (1.0 + dx * dx + dy * dy);
  };
  std::vector<double> own(count), cost(count);
  for_each_point(count, [&](size_t i) {
    for (size_t j = 0; j < count; ++j) {
      if (j == i) continue;
      const double w = weight(i, j), p = affinities[i * count + j];
      own[i] += w;
      if (p > 0) cost[i] += p * std::log(p / w);
    }
  });
  double total = 0, divergence = 0;
  for (size_t i = 0; i < count; ++i) {
    total += own[i];
    divergence += cost[i];
  }
  return divergence + std::log(total);  // the affinities sum to one
}

std::vector<PlanePoint> tsne_gradient(const std::vector<double>& affinities,
                                      const std::vector<PlanePoint>& map,
                                      double exaggeration) {
  const size_t count = map.size();
  const Places places(map);
  std::vector<Forces> forces(count);
  for_each_point(count, [&](size_t i) {
    forces[i] = forces_on(places, affinities.data() + i * count, i);
  });
  double total = 0;
  for (const Forces& one : forces) total += one.weight;
  std::vector<PlanePoint> gradient(count);
  for (size_t i = 0; i < count; ++i) {
    const Forces& f = forces[i];
    gradient[i] = {4 * (exaggeration * f.attract_x - f.repel_x / total),
                   4 * (exaggeration * f.attract_y - f.repel_y / total)};
  }
  return gradient;
}

std::vector<PlanePoint> tsne(const std::vector<float>& similarities,
                             const std::vector<PlanePoint>& start,
                             const TsneOptions& options) {
  const size_t count = start.size();
  if (count < kLeastPoints) return start;
  std::vector<PlanePoint> map = small_start(start);
  if (map.empty()) return start;
  const double perplexity =
      std::min(options.perplexity, static_cast<double>(count - 1) / 3);
  const std::vector<double> affinities =
      tsne_affinities(similarities, count, perplexity);
  Descent descent(count);
  for (int64_t i = 0; i < options.iterations; ++i) {
    const bool early = i < options.exaggerated;
    const double exaggeration = early ? kExaggeration : 1.0;
    descent.step(tsne_gradient(affinities, map, exaggeration), exaggeration,
                 early ? 0.5 : 0.8, map);
  }
  return map;
}

}  // namespace kith
