#pragma once

#include <utility>  // Boost 1.74 uses std::exchange without it

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include "kith/serve/http.h"

// Only for the files of the server: others need no Boost.

namespace kith {

using HttpMessage =
    boost::beast::http::response<boost::beast::http::string_body>;

/// How the request was asked, which its answer depends on.
struct HttpManner {
  unsigned version = 11;  ///< 10 or 11: HTTP/1.0 or HTTP/1.1
  bool is_head = false;   ///< The body is left out.
  bool keep = false;      ///< The connection stays open.
};

/// The response as it is sent, with the fields that all have.
HttpMessage make_message(HttpResponse response, const HttpManner& manner);

}  // namespace kith
