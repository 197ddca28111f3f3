#include "kith/image/jpeg_picture.h"

#include <vector>

namespace kith {
namespace {

/// A block to samples that are `stride` apart.
void decode_block(const int16_t* coefficients, const uint16_t* table,
                  uint8_t* samples, int stride) {
  const auto number = [&](int k) {
    return low_half(coefficients[k] * table[k]);
  };
  bool is_flat = true;
  for (int k = kBlockSide; k < kBlockSize; ++k) {
    is_flat = is_flat && coefficients[k] == 0;
  }
  int16_t between[kBlockSide][kBlockSide];
  for (int x = 0; x < kBlockSide; ++x) {
    int16_t in[kBlockSide], out[kBlockSide];
    for (int y = 0; y < kBlockSide; ++y) in[y] = number(y * kBlockSide + x);
    inverse_dct_column(in, out);
    for (int y = 0; y < kBlockSide; ++y) {
      between[y][x] = is_flat ? flat_column(in[0]) : out[y];
    }
  }
  for (int y = 0; y < kBlockSide; ++y) {
    inverse_dct_row(between[y], samples + y * stride);
  }
}

void decode_planes(const JpegPictures& all, const JpegPicture& picture) {
  const auto* table =
      reinterpret_cast<const uint16_t*>(all.data + picture.tables);
  for (int k = 0; k < picture.components; ++k, table += kBlockSize) {
    const JpegPlane& plane = picture.planes[k];
    const auto* block =
        reinterpret_cast<const int16_t*>(all.data + plane.coefficients);
    uint8_t* samples = all.samples + plane.coefficients / sizeof(int16_t);
    const int stride = plane.blocks_across * kBlockSide;
    for (int y = 0; y < plane.blocks_down; ++y) {
      for (int x = 0; x < plane.blocks_across; ++x, block += kBlockSize) {
        decode_block(
            block, table,
            samples + int64_t{y} * kBlockSide * stride + x * kBlockSide,
            stride);
      }
    }
  }
}

void resize_across(const JpegPictures& all, const JpegPicture& picture) {
  const auto* first =
      reinterpret_cast<const int32_t*>(all.data + picture.across.first);
  const auto* weights =
      reinterpret_cast<const int32_t*>(all.data + picture.across.values);
  const int taps = picture.across.taps;
  std::vector<uint8_t> line(static_cast<size_t>(picture.width) * 3);
  const JpegPixels pixels(all, picture);
  uint8_t* out = all.rows + picture.rows;
  for (int y = 0; y < picture.row_count; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      pixels.get(x, picture.first_row + y, &line[size_t{3} * x]);
    }
    for (int i = 0; i < all.size; ++i, out += 3) {
      resized_pixel(&line[size_t{3} * first[i]], weights + i * taps, taps, out);
    }
  }
}

void resize_down(const JpegPictures& all, const JpegPicture& picture) {
  const auto* first =
      reinterpret_cast<const int32_t*>(all.data + picture.down.first);
  const auto* weights =
      reinterpret_cast<const int32_t*>(all.data + picture.down.values);
  const int taps = picture.down.taps;
  const int length = all.size * 3;
  uint8_t* out = all.pixels + picture.position * all.size * length;
  for (int i = 0; i < all.size; ++i) {
    const uint8_t* row = all.rows + picture.rows +
                         int64_t{first[i] - picture.first_row} * length;
    const int32_t* weight = weights + i * taps;
    for (int x = 0; x < length; ++x) {
      int32_t sum = kResizeHalf;
      for (int k = 0; k < taps; ++k) sum += weight[k] * row[k * length + x];
      *out++ = resized_byte(sum);
    }
  }
}

}  // namespace

void jpeg_to_pixels(const JpegPictures& all) {
  for (int i = 0; i < all.count; ++i) {
    decode_planes(all, all.pictures[i]);
    resize_across(all, all.pictures[i]);
    resize_down(all, all.pictures[i]);
  }
}

}  // namespace kith
