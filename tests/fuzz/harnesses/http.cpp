// A request as the server reads it: beast takes it apart, kith judges.

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "kith/serve/access.h"
#include "kith/serve/http_head.h"
#include "kith/serve/http_message.h"
#include "tests/fuzz/harness.h"

namespace kith {
namespace {

namespace http = boost::beast::http;

constexpr uint64_t kMaxBodyBytes = 2048;

std::vector<std::string> seeds() {
  return {
      "GET /api/search?k=5 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
      "Authorization: Bearer 0123456789abcdef\r\n\r\n",
      "POST /api/search HTTP/1.1\r\nHost: localhost:8080\r\n"
      "Content-Type: image/jpeg\r\nContent-Length: 5\r\n"
      "Expect: 100-continue\r\n\r\nbytes",
      "HEAD http://[::1]:8080/x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nbytes\r\n0\r\n\r\n"};
}

void read(std::string_view bytes) {
  const HttpAddress address{true, "127.0.0.1", 8080};
  http::request_parser<http::string_body> parser;
  parser.header_limit(kMaxHeaderBytes);
  parser.body_limit(kMaxBodyBytes);
  parser.eager(true);
  boost::system::error_code error;
  while (!bytes.empty() && !error && !parser.is_done()) {
    const size_t taken =
        parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    bytes.remove_prefix(taken);
    if (taken == 0) break;
  }
  if (error) {
    auto response = malformed_request(error, kMaxBodyBytes);
    if (response) make_message(std::move(*response), {});
  }
  if (!parser.is_header_done()) return;
  const HttpFields& fields = parser.get();
  const HttpHead head = read_head(fields);
  has_token(head.request.authorization, "0123456789abcdef");
  auto refused = check_head(fields, head, address);
  if (refused) make_message(std::move(*refused), {});
}

const AddHarness kAdd({.name = "http",
                       .read = read,
                       .seeds = seeds,
                       .words = {"GET ",
                                 "POST ",
                                 "HEAD ",
                                 " HTTP/1.1\r\n",
                                 " HTTP/1.0\r\n",
                                 "Host: ",
                                 "Content-Length: ",
                                 "Transfer-Encoding: chunked",
                                 "Expect: 100-continue",
                                 "Authorization: Bearer ",
                                 "Sec-Fetch-Site: ",
                                 "Origin: ",
                                 "Connection: close",
                                 "\r\n",
                                 "\r\n\r\n",
                                 "http://",
                                 "[::1]",
                                 "localhost:8080",
                                 "\r\n ",
                                 "18446744073709551616"}});

}  // namespace
}  // namespace kith
