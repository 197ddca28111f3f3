#pragma once

#include <string>
#include <string_view>

#include <zlib.h>

namespace kith {

/// zlib's data, or without its frame as zip archives have it.
inline std::string deflated(std::string_view data, bool framed) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, framed ? 15 : -15, 9,
               Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, data.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace kith
