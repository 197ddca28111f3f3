#include "kith/serve/http_head.h"

#include <algorithm>

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>

#include "kith/core/quote.h"
#include "kith/serve/access.h"

namespace kith {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;

std::string text(beast::string_view view) { return {view.data(), view.size()}; }

void read_target(const HttpFields& fields, HttpHead& head) {
  constexpr size_t kSchemeLength = 7;  // http://
  head.host = text(fields[http::field::host]);
  head.request.target = text(fields.target());
  const std::string& target = head.request.target;
  if (!beast::iequals(fields.target().substr(0, kSchemeLength), "http://")) {
    return;
  }
  const size_t end =
      std::min(target.find_first_of("/?", kSchemeLength), target.size());
  head.host = target.substr(kSchemeLength, end - kSchemeLength);
  std::string path = target.substr(end);
  if (!path.starts_with('/')) path.insert(0, "/");
  head.request.target = std::move(path);
}

}  // namespace

std::string HttpAddress::url() const {
  return "http://" + name + ":" + std::to_string(port) + "/";
}

HttpHead read_head(const HttpFields& fields) {
  HttpHead head;
  head.is_head = fields.method() == http::verb::head;
  HttpRequest& request = head.request;
  request.method = head.is_head ? "GET" : text(fields.method_string());
  request.authorization = text(fields[http::field::authorization]);
  request.content_type = text(fields[http::field::content_type]);
  request.fetch_site = text(fields["Sec-Fetch-Site"]);
  // HTTP/1.0 has no such field: there it says nothing.
  head.wants_continue =
      fields.version() >= 11 && fields.count(http::field::expect) != 0;
  read_target(fields, head);
  return head;
}

std::optional<HttpResponse> check_head(const HttpFields& fields,
                                       const HttpHead& head,
                                       const HttpAddress& address) {
  const size_t hosts = fields.count(http::field::host);
  const bool may_lack_host = fields.version() < 11 && !address.is_loopback;
  if (hosts != 1 && !(hosts == 0 && may_lack_host)) {
    return error_response(400, "the request has no Host, or several",
                          "send one Host field");
  }
  if (address.is_loopback &&
      !is_loopback_host(head.host, address.name, address.port)) {
    return error_response(421, "this server is not called that",
                          "open " + address.url());
  }
  if (fields.count(http::field::transfer_encoding) != 0) {
    return error_response(411, "the length of the body must be known",
                          "send a Content-Length");
  }
  const beast::string_view expected = fields[http::field::expect];
  if (head.wants_continue && !beast::iequals(expected, "100-continue")) {
    return error_response(
        417, "the server cannot do what is expected: " + quote(text(expected)),
        "leave the Expect field out, or send 100-continue");
  }
  return {};
}

std::optional<HttpResponse> malformed_request(
    const boost::system::error_code& error, uint64_t max_body_bytes) {
  if (error == http::error::body_limit) {
    return error_response(
        413, "the body is too large",
        "at most " + std::to_string(max_body_bytes) +
            " bytes are accepted: send smaller pictures, or fewer");
  }
  if (error == http::error::header_limit ||
      error == http::error::buffer_overflow) {
    return error_response(431, "the header of the request is too long",
                          "at most 8 KiB are accepted");
  }
  const bool is_http =
      error.category() == make_error_code(http::error::bad_method).category();
  if (!is_http || error == http::error::end_of_stream ||
      error == http::error::partial_message) {
    return {};
  }
  return error_response(400, "this is not a request of HTTP/1.1",
                        error.message());
}

}  // namespace kith
