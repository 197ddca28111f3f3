#pragma once

#include <cstdint>

#include "kith/core/both_sides.h"

// From the coefficients of a JPEG to its pixels: the arithmetic of
// libjpeg-turbo's defaults, so that the pixels have the same bits. Every step
// is of integers. Without LibTorch, for CPUs and GPUs.

namespace kith {

constexpr int kBlockSide = 8;
constexpr int kBlockSize = kBlockSide * kBlockSide;

/// The low 16 bits, with their sign. Sums and products of coefficients have 16
/// bits in libjpeg-turbo on x86-64; of a picture that an encoder made none is
/// larger, and then every processor gives the same.
KITH_BOTH_SIDES int16_t low_half(int32_t x) {
  return static_cast<int16_t>(static_cast<uint16_t>(x));
}

KITH_BOTH_SIDES int32_t clamped(int32_t x, int32_t low, int32_t high) {
  return x < low ? low : (x > high ? high : x);
}

/// The inverse DCT of 8 numbers in fixed point (Loeffler, Ligtenberg and
/// Moschytz, ICASSP 1989: 11 multiplications): sqrt(8) times as large, times
/// 2^13, less `shift` bits, rounded to the nearest and clamped to 16 bits.
KITH_BOTH_SIDES void inverse_dct(const int16_t in[kBlockSide], int shift,
                                 int16_t out[kBlockSide]) {
  constexpr int kBits = 13;
  // Of the constants c of the rotations, round(c 2^13).
  constexpr int32_t k0298 = 2446, k0390 = 3196, k0541 = 4433, k0765 = 6270,
                    k0899 = 7373, k1175 = 9633, k1501 = 12299, k1847 = 15137,
                    k1961 = 16069, k2053 = 16819, k2562 = 20995, k3072 = 25172;
  // Even numbers: a rotation of 2 and 6, and 0 with 4.
  const int32_t turned_3 = in[2] * (k0541 + k0765) + in[6] * k0541;
  const int32_t turned_2 = in[2] * k0541 + in[6] * (k0541 - k1847);
  const int32_t sum = low_half(in[0] + in[4]) * (1 << kBits);
  const int32_t difference = low_half(in[0] - in[4]) * (1 << kBits);
  const int32_t even[4] = {sum + turned_3, difference + turned_2,
                           difference - turned_2, sum - turned_3};
  // Odd numbers: three rotations that share their products.
  const int16_t sum_73 = low_half(in[7] + in[3]);
  const int16_t sum_51 = low_half(in[5] + in[1]);
  const int32_t shared_73 = sum_73 * (k1175 - k1961) + sum_51 * k1175;
  const int32_t shared_51 = sum_73 * k1175 + sum_51 * (k1175 - k0390);
  const int32_t odd[4] = {in[7] * -k0899 + in[1] * (k1501 - k0899) + shared_51,
                          in[5] * -k2562 + in[3] * (k3072 - k2562) + shared_73,
                          in[5] * (k2053 - k2562) + in[3] * -k2562 + shared_51,
                          in[7] * (k0298 - k0899) + in[1] * -k0899 + shared_73};
  const int32_t half = 1 << (shift - 1);
  for (int k = 0; k < 4; ++k) {
    out[k] = static_cast<int16_t>(
        clamped((even[k] + odd[k] + half) >> shift, -32768, 32767));
    out[7 - k] = static_cast<int16_t>(
        clamped((even[k] - odd[k] + half) >> shift, -32768, 32767));
  }
}

/// The two passes of a block: its columns first, from coefficients times the
/// quantisation table to numbers that are 4 sqrt(8) times as large.
KITH_BOTH_SIDES void inverse_dct_column(const int16_t in[kBlockSide],
                                        int16_t out[kBlockSide]) {
  inverse_dct(in, 11, out);
}

/// The same of a block whose rows after the first are all zero. Only beyond 16
/// bits it is not the same.
KITH_BOTH_SIDES int16_t flat_column(int16_t first) {
  return low_half(first * 4);
}

/// Then its rows, to samples 0 to 255.
KITH_BOTH_SIDES void inverse_dct_row(const int16_t in[kBlockSide],
                                     uint8_t out[kBlockSide]) {
  int16_t sums[kBlockSide];
  inverse_dct(in, 18, sums);
  for (int k = 0; k < kBlockSide; ++k) {
    out[k] = static_cast<uint8_t>(clamped(sums[k], -128, 127) + 128);
  }
}

/// Samples of one component: [height, width] of rows that are `stride` apart.
struct SamplePlane {
  const uint8_t* samples;
  int stride;
  int width;
  int height;
};

/// The sample of a component with one for every h x v pixels, at a pixel of
/// the picture: "fancy" upsampling. Between the centres of samples it is
/// linear; halves are rounded up and down in turn. h v: 1 1, 2 1 or 2 2.
KITH_BOTH_SIDES int upsampled(const SamplePlane& plane, int h, int v, int x,
                              int y) {
  const int near_x = x >> (h - 1);
  const int near_y = y >> (v - 1);
  const uint8_t* near = plane.samples + int64_t{near_y} * plane.stride;
  // Too narrow planes are repeated, as those of full size are taken.
  if (h == 1 || plane.width <= 2) return near[near_x];
  const bool is_right = x % 2 == 1;
  const int far_x = clamped(near_x + (is_right ? 1 : -1), 0, plane.width - 1);
  if (v == 1) return (3 * near[near_x] + near[far_x] + (is_right ? 2 : 1)) >> 2;
  const int far_y =
      clamped(near_y + (y % 2 == 1 ? 1 : -1), 0, plane.height - 1);
  const uint8_t* far = plane.samples + int64_t{far_y} * plane.stride;
  return (3 * (3 * near[near_x] + far[near_x]) + 3 * near[far_x] + far[far_x] +
          (is_right ? 7 : 8)) >>
         4;
}

/// RGB of a sample of each component, by the coefficients of JFIF in 16 bits.
KITH_BOTH_SIDES void ycc_to_rgb(int y, int cb, int cr, uint8_t rgb[3]) {
  constexpr int kHalf = 1 << 15;
  const int blue = cb - 128;
  const int red = cr - 128;
  rgb[0] =
      static_cast<uint8_t>(clamped(y + ((91881 * red + kHalf) >> 16), 0, 255));
  rgb[1] = static_cast<uint8_t>(
      clamped(y + ((-22554 * blue - 46802 * red + kHalf) >> 16), 0, 255));
  rgb[2] = static_cast<uint8_t>(
      clamped(y + ((116130 * blue + kHalf) >> 16), 0, 255));
}

}  // namespace kith
