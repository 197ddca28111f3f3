#include "tests/fuzz/harness.h"
#include "tests/fuzz/pictures.h"
#include "tests/support/more_pictures.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  if (!detail::has_webp()) return {};
  return {lossless_webp(), transparent_webp(), lossy_webp(), animated_webp()};
}

/// The length of the file.
std::string repair(std::string bytes) {
  if (bytes.size() < 12) return bytes;
  return bytes.replace(4, 4, little_endian(bytes.size() - 8, 4));
}

const AddHarness kAdd({.name = "webp",
                       .read = read_picture,
                       .seeds = seeds,
                       .words = {"RIFF", "WEBP", "VP8 ", "VP8L", "VP8X", "ALPH",
                                 "ANIM", "ANMF", "EXIF", "ICCP", "XMP "},
                       .repair = repair});

}  // namespace
}  // namespace kith
