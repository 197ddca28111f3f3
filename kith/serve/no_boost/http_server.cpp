#include "kith/serve/http_server.h"

#include "kith/core/error.h"

// The server of a kith that was built without Boost: there is none.

namespace kith {
namespace {

[[noreturn]] void refuse() {
  throw ConfigError(
      "this kith was built without Boost, which kith serve needs: install "
      "libboost-dev (1.74 or later), configure and build again");
}

}  // namespace

class HttpServer::Listener {};

bool is_loopback(const std::string&) { refuse(); }

HttpServer::HttpServer(const HttpOptions&, HttpHandler&, ServeMetrics&) {
  refuse();
}

HttpServer::~HttpServer() = default;
int HttpServer::port() const { return 0; }
std::string HttpServer::url() const { return ""; }
void HttpServer::run() {}
void HttpServer::stop() {}

}  // namespace kith
