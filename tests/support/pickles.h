#pragma once

#include <string>
#include <string_view>

#include "kith/io/byte_stream.h"
#include "kith/io/pickle.h"

namespace kith {

inline Pickle parse_pickle(std::string_view bytes) {
  ByteStream in(bytes, "a.pkl");
  return read_pickle(in);
}

/// Of bytes with zeros among them.
inline std::string raw(std::string_view text) { return std::string(text); }

}  // namespace kith
