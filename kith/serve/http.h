#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kith {

/// What a server hands on of a request whose form it has checked.
struct HttpRequest {
  std::string method;  ///< "GET"; a HEAD is handed on as a GET.
  std::string target;  ///< "/api/search?k=5", not decoded.
  std::string authorization;
  std::string content_type;
  std::string fetch_site;  ///< Sec-Fetch-Site; only browsers send it.
  /// The address it comes from, of IPv6 the network; empty: this machine.
  std::string client;
  uint64_t body_bytes = 0;  ///< As declared, also before the body is there.
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string cache = "no-store";  ///< Cache-Control
  std::vector<std::pair<std::string, std::string>> headers = {};
  double delay_seconds = 0;    ///< Until it is sent: trying is to be slow.
  const char* route = "none";  ///< What the request was for, in metrics.
};

/// Takes the response, once, on any thread.
using Reply = std::function<void(HttpResponse)>;

/// Answers requests. Both functions are called on several threads at a time
/// and must not take long: they hand what does to others.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;

  /// Why a request is refused before its body is read; nothing if it is not.
  virtual std::optional<HttpResponse> refuse(const HttpRequest& head) = 0;

  /// Whether who sent a request is one of those the server is for: has its
  /// token. When places run short, others give theirs up first.
  virtual bool knows(const HttpRequest&) { return false; }

  /// Of a request that was not refused, with its body.
  virtual void answer(HttpRequest request, Reply reply) = 0;
};

/// {"error": ..., "remedy": ...} with the fields that its status calls for.
HttpResponse error_response(int status, const std::string& error,
                            const std::string& remedy);

}  // namespace kith
