#pragma once

#include <cstddef>
#include <cstdint>

#include "kith/core/both_sides.h"
#include "kith/image/jpeg_samples.h"
#include "kith/image/resize_kernels.h"

// A JPEG of which the processor has only decoded the Huffman code, and how it
// becomes size x size pixels. Without LibTorch, for CPUs and GPUs.

namespace kith {

/// Blocks of one component, [blocks_down, blocks_across, 64] int16.
struct JpegPlane {
  uint32_t coefficients;  ///< Where they begin, in bytes.
  int32_t blocks_across;
  int32_t blocks_down;
  int32_t width;  ///< Samples that count.
  int32_t height;

  KITH_BOTH_SIDES int64_t blocks() const {
    return int64_t{blocks_across} * blocks_down;
  }
};

/// One side of a resize, see ResizeWeights; places are in bytes.
struct JpegResize {
  uint32_t first;   ///< Of int32 [size]: the first source of each output.
  uint32_t values;  ///< Of int32 [size, taps]
  int32_t taps;
};

/// Places count from the beginning of the memory that the picture is in.
struct JpegPicture {
  static constexpr int kMostWidth = 8192;  ///< A row fits in a GPU's block.

  int64_t position;  ///< Among the pictures that come out.
  int32_t width;
  int32_t height;
  int32_t components;  ///< 3: YCbCr; 1: grey, which becomes RGB.
  int32_t chroma_across, chroma_down;  ///< Pixels a sample of Cb and Cr.
  JpegPlane planes[3];
  uint32_t tables;  ///< Of uint16 [components, 64]: quantisation.
  JpegResize across, down;
  int32_t first_row;  ///< Only these rows of the picture count.
  int32_t row_count;
  uint32_t rows;  ///< Of [row_count, size, 3] among all rows resized across.
};

/// Pictures in one piece of memory, and memory for what lies in between.
struct JpegPictures {
  const JpegPicture* pictures = nullptr;  ///< [count]
  int count = 0;
  int size = 0;
  const uint8_t* data = nullptr;
  uint8_t* samples = nullptr;  ///< Half as many bytes as `data`.
  uint8_t* rows = nullptr;
  uint8_t* pixels = nullptr;  ///< [positions, size, size, 3]
};

/// Of a block the samples lie at half the place of the coefficients.
KITH_BOTH_SIDES SamplePlane samples_of(const JpegPictures& all,
                                       const JpegPlane& plane) {
  return {all.samples + plane.coefficients / sizeof(int16_t),
          plane.blocks_across * kBlockSide, plane.width, plane.height};
}

/// The pixels of a picture whose samples are there.
struct JpegPixels {
  KITH_BOTH_SIDES JpegPixels(const JpegPictures& all,
                             const JpegPicture& picture)
      : luma(samples_of(all, picture.planes[0])),
        is_grey(picture.components == 1),
        across(picture.chroma_across),
        down(picture.chroma_down) {
    if (is_grey) return;
    cb = samples_of(all, picture.planes[1]);
    cr = samples_of(all, picture.planes[2]);
  }

  KITH_BOTH_SIDES void get(int x, int y, uint8_t rgb[3]) const {
    const uint8_t grey = luma.samples[int64_t{y} * luma.stride + x];
    if (is_grey) {
      rgb[0] = rgb[1] = rgb[2] = grey;
    } else {
      ycc_to_rgb(grey, upsampled(cb, across, down, x, y),
                 upsampled(cr, across, down, x, y), rgb);
    }
  }

  SamplePlane luma, cb = {}, cr = {};
  bool is_grey;
  int across, down;
};

/// Weighted sums begin with a half, and end as bytes.
constexpr int32_t kResizeHalf = 1 << (kResizePrecision - 1);
KITH_BOTH_SIDES uint8_t resized_byte(int32_t sum) {
  return static_cast<uint8_t>(clamped(sum >> kResizePrecision, 0, 255));
}

/// The weighted sum of RGB pixels that lie together.
KITH_BOTH_SIDES void resized_pixel(const uint8_t* source,
                                   const int32_t* weights, int taps,
                                   uint8_t rgb[3]) {
  int32_t sums[3] = {kResizeHalf, kResizeHalf, kResizeHalf};
  for (int k = 0; k < taps; ++k, source += 3) {
    const int32_t weight = weights[k];
    for (int c = 0; c < 3; ++c) sums[c] += weight * source[c];
  }
  for (int c = 0; c < 3; ++c) rgb[c] = resized_byte(sums[c]);
}

/// Makes the pixels on the CPU; all is host memory.
void jpeg_to_pixels(const JpegPictures& all);

}  // namespace kith
