#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/image/image.h"

namespace kith {

/// PNG of a grey or RGB picture, which must not be empty (asserted). The same
/// picture gives the same bytes for a given version of libpng and zlib: fixed
/// level and filter, no time stamp.
std::vector<uint8_t> encode_png(const Image& image);

/// encode_png to a file (see write_file).
void write_png(const std::string& path, const Image& image);

/// Baseline JPEG, quality 1..100 (asserted), with 4:2:0 chroma for RGB.
std::vector<uint8_t> encode_jpeg(const Image& image, int quality);

}  // namespace kith
