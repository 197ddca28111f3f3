#include "kith/core/error.h"
#include "kith/image/decode.h"

namespace kith::detail {

bool has_tiff() { return false; }

StoredImage decode_tiff(std::span<const uint8_t>, const std::string& name,
                        const DecodeLimits&) {
  throw DataError(name +
                  ": this is a TIFF, and this kith was built without libtiff: "
                  "install it (Debian: libtiff-dev) and build again, or save "
                  "the picture as PNG");
}

}  // namespace kith::detail
