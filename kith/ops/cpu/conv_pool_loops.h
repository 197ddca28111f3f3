#pragma once

// Compiled for plain x86-64, AVX2 and AVX-512. A vector holds filters: the nine
// taps of a channel stay in registers along a row, each pixel is read by all
// lanes, and the four positions that are pooled never leave the registers.

#include <algorithm>
#include <cstring>
#include <vector>

#include "kith/ops/conv_pool_kernels.h"

namespace kith::KITH_ROWS {

constexpr int64_t kLanes = KITH_VECTOR_BYTES / sizeof(float);
typedef float Floats
    __attribute__((vector_size(KITH_VECTOR_BYTES), aligned(4), may_alias));
typedef int32_t Ints
    __attribute__((vector_size(KITH_VECTOR_BYTES), aligned(4), may_alias));
typedef uint8_t Bytes
    __attribute__((vector_size(kLanes), aligned(1), may_alias));

/// One picture with its border of zeros, [C, H + 2, W + 2].
inline void pad_picture(const ConvPool& p, int64_t n, float* padded) {
  const float* image = p.images + n * p.strides[0];
  for (int64_t c = 0; c < p.channels; ++c) {
    for (int64_t y = 0; y < p.height; ++y) {
      float* to = padded + (c * (p.height + 2) + y + 1) * (p.width + 2) + 1;
      const float* from = image + c * p.strides[1] + y * p.strides[2];
      for (int64_t x = 0; x < p.width; ++x) to[x] = from[x * p.strides[3]];
    }
  }
}

inline std::vector<float> make_padded(const ConvPool& p) {
  return std::vector<float>(
      static_cast<size_t>(p.channels * (p.height + 2) * (p.width + 2)));
}

/// sum[2 dy + dx] += the filters' values at (dy, dx) of the four positions.
inline void add_channel(const float* at, int64_t line, const Floats* taps,
                        Floats* sum) {
  for (int64_t dy = 0; dy < 2; ++dy) {
    for (int64_t dx = 0; dx < 2; ++dx) {
      Floats s = sum[2 * dy + dx];
      for (int64_t t = 0; t < ConvPool::kTaps; ++t) {
        s += taps[t] * at[(dy + t / 3) * line + dx + t % 3];
      }
      sum[2 * dy + dx] = s;
    }
  }
}

/// The largest of the four, the first of equal ones, or a NaN; and its place.
inline Floats largest(const Floats* sum, Ints& place) {
  Floats most = sum[0];
  place = Ints{};
  for (int32_t i = 1; i < 4; ++i) {
    const Ints more = (sum[i] > most) | (sum[i] != sum[i]);
    most = more ? sum[i] : most;
    place = more ? Ints{} + i : place;
  }
  return most;
}

/// A row of pooled positions, kLanes filters from `first` on.
inline void forward_row(const ConvPool& p, const float* padded, int64_t y,
                        int64_t first, float* pooled, uint8_t* place) {
  const int64_t line = p.width + 2;
  Floats taps[ConvPool::kMostChannels * ConvPool::kTaps];
  for (int64_t t = 0; t < p.channels * ConvPool::kTaps; ++t) {
    std::memcpy(&taps[t], p.weight + t * p.filters + first, sizeof(Floats));
  }
  for (int64_t x = 0; x < p.width / 2; ++x) {
    Floats sum[4] = {};
    for (int64_t c = 0; c < p.channels; ++c) {
      const float* at = padded + (c * (p.height + 2) + 2 * y) * line + 2 * x;
      add_channel(at, line, taps + c * ConvPool::kTaps, sum);
    }
    Ints where;
    const Floats most = largest(sum, where);
    const Bytes bytes = __builtin_convertvector(where, Bytes);
    std::memcpy(pooled + x * p.filters + first, &most, sizeof(most));
    std::memcpy(place + x * p.filters + first, &bytes, sizeof(bytes));
  }
}

inline void conv_pool_forward(const ConvPool& p, int64_t begin, int64_t end) {
  std::vector<float> padded = make_padded(p);
  const int64_t row = p.width / 2 * p.filters;
  for (int64_t n = begin; n < end; ++n) {
    pad_picture(p, n, padded.data());
    for (int64_t y = 0; y < p.height / 2; ++y) {
      const int64_t at = (n * (p.height / 2) + y) * row;
      for (int64_t first = 0; first < p.filters; first += kLanes) {
        forward_row(p, padded.data(), y, first, p.pooled + at, p.place + at);
      }
    }
  }
}

/// The gradient of the taps of one channel for kLanes filters, of a row.
inline void backward_row(const ConvPool& p, const float* at,
                         const float* gradient, const uint8_t* place,
                         Floats* taps) {
  const int64_t line = p.width + 2;
  for (int64_t x = 0; x < p.width / 2; ++x) {
    Floats g;
    Bytes bytes;
    std::memcpy(&g, gradient + x * p.filters, sizeof(g));
    std::memcpy(&bytes, place + x * p.filters, sizeof(bytes));
    const Ints where = __builtin_convertvector(bytes, Ints);
    for (int32_t i = 0; i < 4; ++i) {
      const Floats own = where == i ? g : Floats{};
      const float* pixel = at + i / 2 * line + 2 * x + i % 2;
      for (int64_t t = 0; t < ConvPool::kTaps; ++t) {
        taps[t] += own * pixel[t / 3 * line + t % 3];
      }
    }
  }
}

inline void conv_pool_backward(const ConvPool& p, const float* gradient,
                               float* sum, int64_t begin, int64_t end) {
  std::vector<float> padded = make_padded(p);
  const int64_t row = p.width / 2 * p.filters;
  for (int64_t n = begin; n < end; ++n) {
    pad_picture(p, n, padded.data());
    for (int64_t c = 0; c < p.channels; ++c) {
      for (int64_t first = 0; first < p.filters; first += kLanes) {
        Floats taps[ConvPool::kTaps] = {};
        for (int64_t y = 0; y < p.height / 2; ++y) {
          const int64_t at = (n * (p.height / 2) + y) * row + first;
          backward_row(
              p, padded.data() + (c * (p.height + 2) + 2 * y) * (p.width + 2),
              gradient + at, p.place + at, taps);
        }
        float* to = sum + c * ConvPool::kTaps * p.filters + first;
        for (int64_t t = 0; t < ConvPool::kTaps; ++t) {
          for (int64_t k = 0; k < kLanes; ++k) {
            to[t * p.filters + k] += taps[t][k];
          }
        }
      }
    }
  }
}

}  // namespace kith::KITH_ROWS
