#include "kith/image/orientation.h"
#include "tests/fuzz/harness.h"
#include "tests/support/raw_images.h"

namespace kith {
namespace {

using std::string_literals::operator""s;

std::vector<std::string> seeds() {
  const std::string jpeg = with_orientation(flat_jpeg({.components = "a"}), 6);
  const size_t begin = jpeg.find("Exif");
  return {jpeg.substr(begin, 32),
          "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0"s};
}

void read(std::string_view bytes) {
  const int orientation = exif_orientation(
      {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  apply_orientation(Image(2, 3, 1), orientation);
}

const AddHarness kAdd({.name = "exif",
                       .read = read,
                       .seeds = seeds,
                       .words = {"Exif\0\0"s, "II*\0"s, "MM\0*"s, "\x12\x01",
                                 "\x01\x12", "\x03\0"s, "\x08\0\0\0"s},
                       .longest = 256});

}  // namespace
}  // namespace kith
