#include "kith/image/encode.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/pictures.h"
#include "tests/support/raw_images.h"

namespace kith {
namespace {

using std::string_literals::operator""s;

std::vector<std::string> seeds() {
  return {text_of(encode_png(pattern_picture(12, 7, 3))),
          text_of(encode_png(pattern_picture(5, 9, 1))),
          raw_png({.width = 3,
                   .color_type = 3,
                   .interlace = 1,
                   .rows = "\0\1\0\0\0\1"s,
                   .palette = "abcdef",
                   .alpha = "x"}),
          raw_png({.depth = 16, .color_type = 6, .rows = "\0abcdefgh"s}),
          raw_png({.width = 8, .depth = 1, .rows = "\0\x55"s}),
          raw_png({.color_type = 4, .rows = "\0ab"s})};
}

const AddHarness kAdd({.name = "png",
                       .read = read_picture,
                       .seeds = seeds,
                       .words = {"IHDR", "PLTE", "tRNS", "IDAT", "IEND", "gAMA",
                                 "zTXt", "iTXt", "iCCP", "eXIf", "acTL", "fcTL",
                                 "sBIT", "bKGD", "\x89PNG\r\n\x1a\n"},
                       .repair = repair_png});

}  // namespace
}  // namespace kith
