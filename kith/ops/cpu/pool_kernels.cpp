// The twins of the kernels of cuda/: the same formulas, one number after
// another.

#include "kith/ops/pool_kernels.h"

#include <algorithm>
#include <cmath>

namespace kith {
namespace {

template <class T>
void gem(const GemPool<T>& p, Sum<T>* mean, Sum<T>* log_mean, void*) {
  const Sum<T> power = *p.power;
  for (int64_t n = 0; n < p.images; ++n) {
    for (int64_t c = 0; c < p.channels; ++c) {
      Sum<T> sum = 0, log_sum = 0;
      for (int64_t i = 0; i < p.positions; ++i) {
        const Sum<T> x = widen(p.x[(n * p.positions + i) * p.channels + c]);
        const Sum<T> log_v = std::log(x < p.floor ? p.floor : x);
        const Sum<T> v = std::exp(power * log_v);
        sum += v;
        log_sum += v * log_v;
      }
      mean[n * p.channels + c] = sum / static_cast<Sum<T>>(p.positions);
      log_mean[n * p.channels + c] = log_sum / static_cast<Sum<T>>(p.positions);
    }
  }
}

template <class T>
void gem_gradient(const GemPool<T>& p, const Sum<T>* factor, T* dx, void*) {
  const Sum<T> power = *p.power - 1;
  for (int64_t i = 0; i < p.images * p.positions * p.channels; ++i) {
    const int64_t at =
        i / p.channels / p.positions * p.channels + i % p.channels;
    const Sum<T> x = widen(p.x[i]);
    dx[i] = x < p.floor ? narrow<T>(Sum<T>(0))
                        : narrow<T>(factor[at] * std::exp(power * std::log(x)));
  }
}

template <class T>
void max(const MaxPool<T>& p, const T* x, T* y, uint8_t* place, void*) {
  for (int64_t out = 0; out < p.images * p.out_height * p.out_width; ++out) {
    const int64_t column = out % p.out_width;
    const int64_t row = out / p.out_width % p.out_height;
    const T* map =
        x + out / p.out_width / p.out_height * p.height * p.width * p.channels;
    for (int64_t c = 0; c < p.channels; ++c) {
      bool has_one = false;
      Sum<T> largest = 0;
      uint8_t where = 0;
      for (int64_t tap = 0; tap < p.kKernel * p.kKernel; ++tap) {
        const int64_t h = row * p.kStride - p.kPadding + tap / p.kKernel;
        const int64_t w = column * p.kStride - p.kPadding + tap % p.kKernel;
        if (h < 0 || h >= p.height || w < 0 || w >= p.width) continue;
        const Sum<T> value = widen(map[(h * p.width + w) * p.channels + c]);
        if (has_one && !(value > largest) && !std::isnan(value)) continue;
        has_one = true;
        largest = value;
        where = static_cast<uint8_t>(tap);
      }
      y[out * p.channels + c] = narrow<T>(largest);
      place[out * p.channels + c] = where;
    }
  }
}

template <class T>
void max_gradient(const MaxPool<T>& p, const T* gradient, const uint8_t* place,
                  T* dx, void*) {
  for (int64_t in = 0; in < p.images * p.height * p.width; ++in) {
    const int64_t w = in % p.width;
    const int64_t h = in / p.width % p.height;
    const int64_t first = in / p.width / p.height * p.out_height * p.out_width;
    for (int64_t c = 0; c < p.channels; ++c) {
      Sum<T> sum = 0;
      for (int64_t row = h / 2; row <= std::min((h + 1) / 2, p.out_height - 1);
           ++row) {
        for (int64_t column = w / 2;
             column <= std::min((w + 1) / 2, p.out_width - 1); ++column) {
          const int64_t tap = (h - row * p.kStride + p.kPadding) * p.kKernel +
                              w - column * p.kStride + p.kPadding;
          const int64_t out =
              (first + row * p.out_width + column) * p.channels + c;
          if (place[out] == tap) sum += widen(gradient[out]);
        }
      }
      dx[in * p.channels + c] = narrow<T>(sum);
    }
  }
}

template <class T>
constexpr PoolKernels<T> kPoolKernels = {1, gem<T>, gem_gradient<T>, max<T>,
                                         max_gradient<T>};

}  // namespace

template <>
const PoolKernels<float>& cpu_pool_kernels<float>() {
  return kPoolKernels<float>;
}
template <>
const PoolKernels<double>& cpu_pool_kernels<double>() {
  return kPoolKernels<double>;
}
template <>
const PoolKernels<Bf16>& cpu_pool_kernels<Bf16>() {
  return kPoolKernels<Bf16>;
}

}  // namespace kith
