#include "kith/image/resize_kernels.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define KITH_AVX2 __attribute__((target("avx2")))
#endif

namespace kith {
namespace {

constexpr int32_t kHalf = int32_t{1} << (kResizePrecision - 1);

uint8_t to_pixel(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> kResizePrecision, 0, 255));
}

template <int kChannels>
void resize_row(const uint8_t* source, const ResizeWeights& weights,
                uint8_t* target) {
  for (size_t i = 0; i < weights.outputs(); ++i) {
    const int32_t* weight = weights.of(i);
    const uint8_t* pixel =
        source + size_t{kChannels} * static_cast<size_t>(weights.first[i]);
    int32_t sums[kChannels];
    std::fill_n(sums, kChannels, kHalf);
    for (int k = 0; k < weights.taps; ++k) {
      for (int c = 0; c < kChannels; ++c) {
        sums[c] += weight[k] * pixel[k * kChannels + c];
      }
    }
    for (int c = 0; c < kChannels; ++c) *target++ = to_pixel(sums[c]);
  }
}

// In pieces whose sums stay in the first cache.
void mix_rows(const uint8_t* rows, size_t length, int count,
              const int32_t* weights, uint8_t* target) {
  constexpr size_t kPiece = 1024;
  int32_t sums[kPiece];
  for (size_t begin = 0; begin < length; begin += kPiece) {
    const size_t size = std::min(kPiece, length - begin);
    std::fill_n(sums, size, kHalf);
    for (int k = 0; k < count; ++k) {
      const uint8_t* row = rows + static_cast<size_t>(k) * length + begin;
      const int32_t weight = weights[k];
      for (size_t x = 0; x < size; ++x) sums[x] += weight * row[x];
    }
    for (size_t x = 0; x < size; ++x) target[begin + x] = to_pixel(sums[x]);
  }
}

#ifdef KITH_AVX2

// The three channels and the byte that follows them at once. Packing clamps.
KITH_AVX2 void rgb_row_avx2(const uint8_t* source, const ResizeWeights& weights,
                            uint8_t* target) {
  const size_t outputs = weights.outputs();
  const int taps = weights.taps;
  const int32_t* weight = weights.values.data();
  for (size_t i = 0; i < outputs; ++i, weight += taps, target += 3) {
    const uint8_t* pixel = source + 3 * static_cast<size_t>(weights.first[i]);
    __m128i sum = _mm_set1_epi32(kHalf);
    for (int k = 0; k < taps; ++k, pixel += 3) {
      const __m128i values = _mm_cvtepu8_epi32(_mm_loadu_si32(pixel));
      sum = _mm_add_epi32(sum,
                          _mm_mullo_epi32(values, _mm_set1_epi32(weight[k])));
    }
    sum = _mm_srai_epi32(sum, kResizePrecision);
    sum = _mm_packus_epi32(sum, sum);
    const int packed = _mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
    std::memcpy(target, &packed, 3);
  }
}

KITH_AVX2 __m256i add_weighted(__m256i sum, const uint8_t* bytes,
                               __m256i weight) {
  const __m256i values = _mm256_cvtepu8_epi32(
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
  return _mm256_add_epi32(sum, _mm256_mullo_epi32(values, weight));
}

// 16 bytes at a time, with their sums in registers; packing clamps.
KITH_AVX2 void mix_rows_avx2(const uint8_t* rows, size_t length, int count,
                             const int32_t* weights, uint8_t* target) {
  size_t x = 0;
  for (; x + 16 <= length; x += 16) {
    const uint8_t* source = rows + x;
    __m256i low = _mm256_set1_epi32(kHalf);
    __m256i high = low;
    for (int k = 0; k < count; ++k, source += length) {
      const __m256i weight = _mm256_set1_epi32(weights[k]);
      low = add_weighted(low, source, weight);
      high = add_weighted(high, source + 8, weight);
    }
    low = _mm256_srai_epi32(low, kResizePrecision);
    high = _mm256_srai_epi32(high, kResizePrecision);
    // Packs within halves: 0-3, 8-11, 4-7, 12-15; then back in order.
    const __m256i words =
        _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xD8);
    const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words),
                                           _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + x), bytes);
  }
  for (; x < length; ++x) {
    int32_t sum = kHalf;
    for (int k = 0; k < count; ++k) {
      sum += weights[k] * rows[x + static_cast<size_t>(k) * length];
    }
    target[x] = to_pixel(sum);
  }
}

#endif

}  // namespace

void resize_grey_row(const uint8_t* source, const ResizeWeights& weights,
                     uint8_t* target) {
  resize_row<1>(source, weights, target);
}

const ResizeKernels& plain_resize_kernels() {
  static constexpr ResizeKernels kKernels{resize_row<3>, mix_rows};
  return kKernels;
}

const ResizeKernels& resize_kernels() {
#ifdef KITH_AVX2
  static constexpr ResizeKernels kKernels{rgb_row_avx2, mix_rows_avx2};
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  if (has_avx2) return kKernels;
#endif
  return plain_resize_kernels();
}

}  // namespace kith
