#include "kith/core/error.h"
#include "kith/image/decode.h"

namespace kith::detail {

bool has_webp() { return false; }

Image decode_webp(std::span<const uint8_t>, const std::string& name,
                  const DecodeLimits&) {
  throw DataError(name +
                  ": this is a WebP, and this kith was built without libwebp: "
                  "install it (Debian: libwebp-dev) and build again, or save "
                  "the picture as PNG");
}

}  // namespace kith::detail
