#include "tests/fuzz/harness.h"
#include "tests/fuzz/pictures.h"
#include "tests/support/more_pictures.h"

namespace kith {
namespace {

using std::string_literals::operator""s;

std::vector<std::string> seeds() {
  return {raw_bmp({.width = 2, .height = 2, .rows = "abcdef\0\0ghijkl\0\0"s}),
          raw_bmp({.width = 1, .height = -2, .bits = 32, .rows = "abcdefgh"}),
          raw_bmp({.width = 1,
                   .bits = 16,
                   .compression = 3,
                   .between = "\0\xf8\0\0\xe0\x07\0\0\x1f\0\0\0"s,
                   .rows = "ab\0\0"s})};
}

const AddHarness kAdd({.name = "bmp",
                       .read = read_picture,
                       .seeds = seeds,
                       .words = {"BM", "\x28\0\0\0"s, "\x7c\0\0\0"s,
                                 "\x0c\0\0\0"s, "\x6c\0\0\0"s, "\x01\0"s,
                                 "\x04\0"s, "\x08\0"s, "\x10\0"s, "\x18\0"s,
                                 "\x20\0"s, "\x03\0\0\0"s}});

}  // namespace
}  // namespace kith
