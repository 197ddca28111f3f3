// The twins of the kernels of cuda/: the same formulas, one number after
// another.

#include "kith/ops/unit_kernels.h"

#include <algorithm>
#include <cmath>

namespace kith {
namespace {

template <class T>
void unit_rows(const UnitRows<T>& p, void*) {
  for (int64_t row = 0; row < p.rows; ++row) {
    const T* x = p.x + row * p.width;
    T largest = 0, sum = 0;
    for (int64_t k = 0; k < p.width; ++k) {
      largest = std::fmax(largest, std::abs(x[k]));
    }
    const T scale = power_of_two_in(largest);
    for (int64_t k = 0; k < p.width; ++k)
      sum += (x[k] / scale) * (x[k] / scale);
    const T norm = sum == 0 ? T(1) : std::sqrt(sum);
    for (int64_t k = 0; k < p.width; ++k) {
      p.unit[row * p.width + k] = x[k] / scale / norm;
    }
    p.scale[row] = scale;
    p.norm[row] = norm;
  }
}

template <class T>
void unit_rows_gradient(const UnitRowsGradient<T>& p, void*) {
  const int64_t width = p.of.width;
  for (int64_t row = 0; row < p.of.rows; ++row) {
    const T* unit = p.of.unit + row * width;
    const T* du = p.du + row * width;
    T along = 0;
    for (int64_t k = 0; k < width; ++k) along += unit[k] * du[k];
    for (int64_t k = 0; k < width; ++k) {
      p.dx[row * width + k] =
          (du[k] - unit[k] * along) / p.of.norm[row] / p.of.scale[row];
    }
  }
}

template <class T>
constexpr UnitKernels<T> kUnitKernels = {unit_rows<T>, unit_rows_gradient<T>};

}  // namespace

template <>
const UnitKernels<float>& cpu_unit_kernels<float>() {
  return kUnitKernels<float>;
}
template <>
const UnitKernels<double>& cpu_unit_kernels<double>() {
  return kUnitKernels<double>;
}

}  // namespace kith
