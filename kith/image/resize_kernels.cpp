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
constexpr int kLowBits = 11;

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

// Two taps of the three channels in 16 bits each, in the order of the lanes:
// r r', g g', b b' and nothing.
KITH_AVX2 __m128i pair_of_pixels(const uint8_t* pixel) {
  const __m128i order =
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1);
  return _mm_shuffle_epi8(
      _mm_loadl_epi64(reinterpret_cast<const __m128i*>(pixel)), order);
}

KITH_AVX2 __m256i both(__m128i a, __m128i b) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
}

// Two outputs at a time, a pair of taps an instruction. Packing clamps.
KITH_AVX2 void rgb_row_avx2(const uint8_t* source, const ResizeWeights& weights,
                            uint8_t* target) {
  const size_t outputs = weights.outputs();
  const auto pairs = static_cast<size_t>(weights.pairs());
  const auto pixel_of = [&](size_t output) {
    return source + 3 * static_cast<size_t>(weights.first[output]);
  };
  const auto sum_up = [&](size_t a, size_t b) KITH_AVX2 {
    const uint8_t* pixel_a = pixel_of(a);
    const uint8_t* pixel_b = pixel_of(b);
    __m256i high = _mm256_setzero_si256();
    __m256i low = _mm256_set1_epi32(kHalf);
    for (size_t k = 0; k < pairs; ++k, pixel_a += 6, pixel_b += 6) {
      const __m256i pixels =
          both(pair_of_pixels(pixel_a), pair_of_pixels(pixel_b));
      const auto add = [&](__m256i sum,
                           const std::vector<int32_t>& part) KITH_AVX2 {
        const __m256i weight = both(_mm_set1_epi32(part[a * pairs + k]),
                                    _mm_set1_epi32(part[b * pairs + k]));
        return _mm256_add_epi32(sum, _mm256_madd_epi16(pixels, weight));
      };
      high = add(high, weights.high);
      low = add(low, weights.low);
    }
    const __m256i sum = _mm256_srai_epi32(
        _mm256_add_epi32(_mm256_slli_epi32(high, kLowBits), low),
        kResizePrecision);
    const __m256i words = _mm256_packus_epi32(sum, sum);
    return _mm256_packus_epi16(words, words);
  };
  for (size_t i = 0; i < outputs; i += 2, target += 6) {
    const bool is_pair = i + 1 < outputs;
    const __m256i sum = sum_up(i, is_pair ? i + 1 : i);
    const int first = _mm256_cvtsi256_si32(sum);
    std::memcpy(target, &first, 3);
    if (!is_pair) break;
    const int second = _mm256_extract_epi32(sum, 4);
    std::memcpy(target + 3, &second, 3);
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

void ResizeWeights::split() {
  constexpr int32_t kLow = (int32_t{1} << kLowBits) - 1;
  const auto joined = [](int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a & 0xFFFF) |
                                static_cast<uint32_t>(b & 0xFFFF) << 16);
  };
  high.clear();
  low.clear();
  for (size_t i = 0; i < outputs(); ++i) {
    for (int k = 0; k < taps; k += 2) {
      const int32_t a = of(i)[k];
      const int32_t b = k + 1 < taps ? of(i)[k + 1] : 0;
      high.push_back(joined(a >> kLowBits, b >> kLowBits));
      low.push_back(joined(a & kLow, b & kLow));
    }
  }
}

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
