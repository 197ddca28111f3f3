#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>  // Boost 1.74 uses std::exchange without it

#include <boost/beast/http/message.hpp>
#include <boost/system/error_code.hpp>

#include "kith/serve/http.h"

// Only for the files of the server: others need no Boost.

namespace kith {

/// Where a server is found.
struct HttpAddress {
  bool is_loopback = true;
  std::string name;  ///< As in a URL: "127.0.0.1", "[::1]".
  int port = 0;

  std::string url() const;
};

/// The header of a request, as it is understood.
struct HttpHead {
  HttpRequest request;  ///< Without its body.
  std::string host;     ///< Whom it is for.
  bool is_head = false;
  bool wants_continue = false;  ///< Before it sends the body.
};

inline constexpr uint32_t kMaxHeaderBytes = 8 << 10;

using HttpFields = boost::beast::http::request_header<>;

/// "GET http://host/path" (for proxies, but allowed to all) is read as a GET of
/// /path for that host.
HttpHead read_head(const HttpFields& fields);

/// Why a header is refused whatever it asks for; nothing if it is not.
std::optional<HttpResponse> check_head(const HttpFields& fields,
                                       const HttpHead& head,
                                       const HttpAddress& address);

/// What is told to who sends no HTTP or too much of it; nothing if the client
/// has gone.
std::optional<HttpResponse> malformed_request(
    const boost::system::error_code& error, uint64_t max_body_bytes);

}  // namespace kith
