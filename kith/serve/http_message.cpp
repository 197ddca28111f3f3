#include "kith/serve/http_message.h"

namespace kith {
namespace {

namespace http = boost::beast::http;

/// On every answer: the page loads nothing from elsewhere, nobody shows it in
/// a frame, and no browser guesses types.
void set_security_fields(http::fields& fields) {
  fields.set("Content-Security-Policy",
             "default-src 'self'; img-src 'self' blob:; object-src 'none'; "
             "base-uri 'none'; form-action 'self'; frame-ancestors 'none'");
  fields.set("X-Content-Type-Options", "nosniff");
  fields.set("X-Frame-Options", "DENY");
  fields.set("Referrer-Policy", "no-referrer");
  fields.set("Cross-Origin-Resource-Policy", "same-origin");
}

}  // namespace

HttpMessage make_message(HttpResponse response, const HttpManner& manner) {
  HttpMessage message(static_cast<http::status>(response.status),
                      manner.version);
  set_security_fields(message);
  message.set(http::field::content_type, response.content_type);
  message.set(http::field::cache_control, response.cache);
  for (const auto& [name, value] : response.headers) message.set(name, value);
  message.keep_alive(manner.keep);
  message.content_length(response.body.size());
  if (!manner.is_head) message.body() = std::move(response.body);
  return message;
}

}  // namespace kith
