#pragma once

#include <string>

#include "kith/core/rng.h"
#include "kith/image/image.h"

namespace kith {

/// How a JPEG is written by libjpeg.
struct JpegKind {
  int quality = 75;
  int across = 2;  ///< Pixels a sample of Cb and Cr.
  int down = 2;
  bool progressive = false;
  bool one_scan = true;   ///< Or a scan a component.
  int restart_rows = 0;   ///< Rows of MCUs between restart markers.
  std::string exif = {};  ///< Of an APP1 segment; empty: none.
  bool rgb = false;       ///< As it is, without YCbCr.
};

/// The bytes of a grey or RGB picture as a JPEG.
std::string jpeg_bytes(const Image& image, const JpegKind& kind = {});

/// A JPEG of random coefficients up to `largest` (at most 1023) times a
/// quantisation of up to `quantum`: of no picture, and of numbers that an
/// encoder never gives.
std::string random_jpeg(int width, int height, const JpegKind& kind,
                        int largest, int quantum, Rng& rng);

}  // namespace kith
