#pragma once

#include <cstdint>
#include <string_view>

namespace kith {

/// The CRC-32 of Castagnoli (polynomial 0x1EDC6F41, reflected), as iSCSI and
/// TFRecord files have it. Of bytes that come in pieces: `before` is that of
/// the pieces so far.
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

/// How TFRecord files store it: turned and shifted, so that the CRC of bytes
/// that hold CRCs themselves is no special case.
uint32_t masked_crc32c(std::string_view bytes);

}  // namespace kith
