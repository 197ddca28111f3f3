#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kith/serve/http.h"
#include "kith/serve/serve_metrics.h"

namespace kith {

struct HttpOptions {
  std::string host = "127.0.0.1";  ///< An IP address, or localhost.
  int64_t port = 8080;             ///< 0: a free one.
  uint64_t max_body_bytes = 20 << 20;
  int64_t connections = 256;  ///< With a request in work; more: 503.
  /// Of these for one address of a client, and so half of the memory for
  /// bodies; more: 429. This machine may have all.
  int64_t client_connections = 64;
  int64_t threads = 2;         ///< For sockets.
  double header_seconds = 10;  ///< From its first byte on.
  double body_seconds = 30;
  double request_seconds = 30;  ///< From its last byte to the answer.
  double write_seconds = 30;
  double idle_seconds = 30;   ///< Until a next request begins.
  double finish_seconds = 5;  ///< For requests in flight when it stops.
  bool log_requests = false;
  /// On SIGHUP, which does nothing else; must not take long.
  std::function<void()> on_hangup = {};
};

/// Whether only programs of this machine can connect to an address.
/// ConfigError if it is none.
bool is_loopback(const std::string& host);

/// An HTTP/1.1 server. On a loopback address it answers only requests whose
/// Host is one (see is_loopback_host).
class HttpServer {
 public:
  /// Binds the address, and answers from run() on. ConfigError if it is not an
  /// address, RunError if it is taken or not of this machine. Without Boost:
  /// ConfigError that says so.
  HttpServer(const HttpOptions& options, HttpHandler& handler,
             ServeMetrics& metrics);
  ~HttpServer();

  int port() const;
  std::string url() const;  ///< "http://127.0.0.1:8080/"

  /// Returns after stop() or SIGINT or SIGTERM, when the requests in flight are
  /// answered or finish_seconds are over. Replies may come until the server is
  /// destroyed: stop who gives them first.
  void run();

  /// From any thread.
  void stop();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace kith
