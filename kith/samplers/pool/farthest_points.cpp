#include "kith/samplers/pool/farthest_points.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <torch/torch.h>

namespace kith {
namespace {

/// |a - b|^2 in several sums, which the compiler makes one vector of.
float squared_distance(const float* a, const float* b, int64_t dim) {
  constexpr int64_t kLanes = 8;
  float part[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const float difference = a[i + k] - b[i + k];
      part[k] += difference * difference;
    }
  }
  for (; i < dim; ++i) part[0] += (a[i] - b[i]) * (a[i] - b[i]);
  return std::accumulate(part, part + kLanes, 0.F);
}

}  // namespace

// Plain loops: the matrices are small, and starting threads or a library for
// each of so many products takes longer than the product.
std::vector<int64_t> farthest_points(const Tensor& points, int64_t count) {
  TORCH_CHECK_VALUE(points.dim() == 2 && count >= 1 && count <= points.size(0),
                    "farthest_points: cannot choose ", count, " of ",
                    points.sizes());
  const Tensor rows = points.contiguous();
  const float* x = rows.data_ptr<float>();
  const int64_t dim = rows.size(1);
  // Squared distance to the nearest chosen point; of those chosen -1.
  std::vector<float> nearest(static_cast<size_t>(rows.size(0)),
                             std::numeric_limits<float>::infinity());
  std::vector<int64_t> chosen = {0};
  while (true) {
    const int64_t last = chosen.back();
    nearest[static_cast<size_t>(last)] = -1;
    if (static_cast<int64_t>(chosen.size()) == count) return chosen;
    for (int64_t i = 0; i < rows.size(0); ++i) {
      float& least = nearest[static_cast<size_t>(i)];
      least =
          std::min(least, squared_distance(x + i * dim, x + last * dim, dim));
    }
    chosen.push_back(std::max_element(nearest.begin(), nearest.end()) -
                     nearest.begin());
  }
}

}  // namespace kith
