#include "tests/fuzz/harness.h"
#include "tests/fuzz/pictures.h"
#include "tests/support/more_pictures.h"

namespace kith {
namespace {

using std::string_literals::operator""s;

std::vector<std::string> seeds() {
  if (!detail::has_tiff()) return {};
  return {
      raw_tiff({.width = 2, .height = 3, .pixels = "abcdef"}),
      raw_tiff({.width = 2,
                .height = 1,
                .samples = 3,
                .photometric = 2,
                .orientation = 6,
                .pixels = "abcdef"}),
      raw_tiff({.samples = 4, .photometric = 2, .extra = 2, .pixels = "abcd"}),
      raw_tiff({.width = 4, .compression = 32773, .pixels = "\xfdz"})};
}

const AddHarness kAdd(
    {.name = "tiff",
     .read = read_picture,
     .seeds = seeds,
     .words = {"II*\0"s,   "MM\0*"s,   "II+\0"s,   "\x00\x01"s, "\x01\x01",
               "\x02\x01", "\x03\x01", "\x06\x01", "\x11\x01",  "\x15\x01",
               "\x16\x01", "\x17\x01", "\x1c\x01", "\x3d\x01",  "\x40\x01",
               "\x42\x01", "\x44\x01", "\x52\x01", "\x05\0"s,   "\x07\0"s,
               "\x08\0"s,  "\xb2\x80"}});

}  // namespace
}  // namespace kith
