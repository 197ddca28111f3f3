#include "tests/fuzz/harness.h"
#include "tests/fuzz/pictures.h"
#include "tests/support/more_pictures.h"

namespace kith {
namespace {

using std::string_literals::operator""s;

std::vector<std::string> seeds() {
  return {raw_gif({}), raw_gif({.interlaced = true}),
          raw_gif({.screen_width = 4, .left = 1, .transparent = 2})};
}

const AddHarness kAdd({.name = "gif",
                       .read = read_picture,
                       .seeds = seeds,
                       .words = {"GIF87a", "GIF89a", "\x21\xf9\x04", "\x21\xfe",
                                 "\x21\xff\x0bNETSCAPE2.0", ",", ";"}});

}  // namespace
}  // namespace kith
