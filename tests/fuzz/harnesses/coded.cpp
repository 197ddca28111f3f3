#include "tests/support/coded.h"

#include "kith/core/error.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/pictures.h"
#include "tests/support/jpegs.h"

namespace kith {
namespace {

/// Decodes a JPEG in two halves, to what it gives at once.
void read_coded(std::string_view text) {
  InputOptions input;
  input.size = 16;
  input.resize = 20;
  input.colour = "rgb";
  InputWeights weights(input);
  CodedPictures coded(weights, plain_pixels);
  const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()),
                        text.size());
  if (!coded.take(bytes, "a picture", 0)) return;
  Rng unused(0, Stream::kAugment);
  const Image whole =
      prepare_image(decode_image(bytes, "a picture"), input, {}, unused);
  KITH_ASSERT(finished(coded, 1, input.size) == whole.pixels);
}

std::vector<std::string> coded_seeds() {
  return {jpeg_bytes(pattern_picture(20, 12, 3)),
          jpeg_bytes(pattern_picture(9, 17, 3), {.across = 2, .down = 1}),
          jpeg_bytes(pattern_picture(33, 5, 3), {.across = 1, .down = 1}),
          jpeg_bytes(pattern_picture(20, 12, 3), {.one_scan = false}),
          jpeg_bytes(pattern_picture(20, 40, 3), {.restart_rows = 1}),
          jpeg_bytes(pattern_picture(10, 9, 1))};
}

const AddHarness kAddCoded({.name = "coded",
                            .read = read_coded,
                            .seeds = coded_seeds,
                            .words = {"\xff\xd8", "\xff\xc0", "\xff\xc4",
                                      "\xff\xda", "\xff\xdb", "\xff\xdd",
                                      "\xff\xd0", "\xff\xd9"}});

}  // namespace
}  // namespace kith
