// The twins of the kernels of cuda/: the same formulas, one number after
// another.

#include "kith/ops/pool_kernels.h"

#include <algorithm>
#include <cmath>

namespace kith {
namespace {

template <class T>
void gem(const GemPool<T>& p, Sum<T>* y, void*) {
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
      const int64_t at = n * p.channels + c;
      p.mean[at] = sum / static_cast<Sum<T>>(p.positions);
      p.log_mean[at] = log_sum / static_cast<Sum<T>>(p.positions);
      y[at] = std::pow(p.mean[at], 1 / power);
    }
  }
}

template <class T>
void gem_gradient(const GemPool<T>& p, const Sum<T>* dy, T* dx, Sum<T>* dp,
                  void*) {
  const Sum<T> power = *p.power;
  for (int64_t at = 0; at < p.images * p.channels; ++at) {
    const Sum<T> mean = p.mean[at], log_of_mean = std::log(mean);
    const Sum<T> share = dy[at] * std::exp((1 / power - 1) * log_of_mean);
    const Sum<T> factor = share / static_cast<Sum<T>>(p.positions);
    dp[at] = share * (p.log_mean[at] - mean * log_of_mean / power) / power;
    const int64_t first = at / p.channels * p.positions * p.channels;
    for (int64_t position = 0; position < p.positions; ++position) {
      const int64_t i = first + position * p.channels + at % p.channels;
      const Sum<T> x = widen(p.x[i]);
      dx[i] =
          narrow<T>(x < p.floor ? Sum<T>(0)
                                : factor * std::exp((power - 1) * std::log(x)));
    }
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
