#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kith/data/coded_pictures.h"

namespace kith {

inline std::shared_ptr<uint8_t[]> plain_pixels(size_t bytes) {
  return std::shared_ptr<uint8_t[]>(new uint8_t[bytes]);
}

/// The pixels [count, size, size, 3] of pictures that were taken, as a GPU
/// would make them.
inline std::vector<uint8_t> finished(const CodedPictures& coded, int64_t count,
                                     int64_t size) {
  std::vector<uint8_t> pixels(static_cast<size_t>(count * size * size * 3));
  for (const CodedPictures::Piece& piece : coded.pieces()) {
    std::vector<uint8_t> samples(piece.used / 2);
    std::vector<uint8_t> rows(piece.row_bytes);
    JpegPictures pictures =
        CodedPictures::pictures_of(piece, piece.memory.get());
    pictures.size = static_cast<int>(size);
    pictures.samples = samples.data();
    pictures.rows = rows.data();
    pictures.pixels = pixels.data();
    jpeg_to_pixels(pictures);
  }
  return pixels;
}

}  // namespace kith
