#include "kith/image/encode.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/pictures.h"
#include "tests/support/raw_images.h"

namespace kith {
namespace {

using std::string_literals::operator""s;

std::vector<std::string> seeds() {
  const std::string grey = text_of(encode_jpeg(pattern_picture(10, 9, 1), 80));
  return {text_of(encode_jpeg(pattern_picture(20, 12, 3), 90)), grey,
          with_orientation(grey, 6),
          flat_jpeg({.components = "\x9b\x80\x80\xff", .adobe_transform = 2}),
          many_scans_jpeg(2)};
}

const AddHarness kAdd({.name = "jpeg",
                       .read = read_picture,
                       .seeds = seeds,
                       .words = {"\xff\xd8", "\xff\xc0", "\xff\xc2", "\xff\xc4",
                                 "\xff\xda", "\xff\xdb", "\xff\xdd", "\xff\xd0",
                                 "\xff\xd9", "\xff\xe1", "\xff\xee", "\xff\xc9",
                                 "\xff\xfe", "Exif\0\0"s, "Adobe", "JFIF\0"s}});

}  // namespace
}  // namespace kith
