#pragma once

#include <atomic>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>  // Boost 1.74 uses std::exchange without it

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "kith/core/timer.h"
#include "kith/serve/client_counts.h"
#include "kith/serve/http.h"
#include "kith/serve/http_head.h"
#include "kith/serve/http_message.h"
#include "kith/serve/http_server.h"

// Only for the files of the server: others need no Boost.

namespace kith {

/// What the connections of a server share.
struct HttpShared {
  HttpOptions options;
  HttpHandler& handler;
  ServeMetrics& metrics;
  HttpAddress address = {};
  std::atomic<bool> stopping = false;
  std::atomic<int64_t> connections = 0;  ///< Without those refused.
  std::atomic<int64_t> refusals = 0;     ///< Connections being refused.
  std::atomic<uint64_t> body_bytes = 0;  ///< Of bodies, as far as they came.
  ClientCounts clients = {};             ///< What each has of these.
};

/// Whether a connection is one of those that may be open.
enum class HttpPlace {
  kOwn,
  kNone,          ///< There are too many.
  kNoneOfClient,  ///< The client has too many.
};

/// The address of the other side; of IPv6 its network, for a client has any
/// number of addresses there. Empty if it is this machine, or gone.
std::string client_of(const boost::asio::ip::tcp::socket& socket);

/// One connection: reads a request, hands it on, writes the answer, and so on
/// until either side has enough. Every step has a time limit. It keeps itself
/// alive; all of it runs on the strand of its socket.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  /// One without a place answers 503 or 429 to whatever comes, and closes.
  HttpSession(boost::asio::ip::tcp::socket socket, HttpShared& shared,
              HttpPlace place);
  ~HttpSession();
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;

  void start();

  /// Closes the connection when the request in work, if any, is answered.
  void finish();

  /// Since when it waits for a request, and whether the last one was of a
  /// client that the server knows. Nothing while a request is in work.
  struct Idle {
    bool is_known;
    int64_t since;

    auto operator<=>(const Idle&) const = default;
  };
  std::optional<Idle> idle() const;

  const std::string& client() const { return client_; }

  /// Gives its place to another if it is still as idle as it was: whether it
  /// was. From any thread.
  bool make_room(const Idle& idle);

 private:
  using Error = boost::system::error_code;
  using Parser =
      boost::beast::http::request_parser<boost::beast::http::string_body>;

  void become_idle();
  bool become_busy();
  void leave_place();

  void limit(double seconds);
  void wait_for_deadline();

  void wait_for_request();
  void read_header();
  void on_header(const Error& error);
  void on_bad_request(const Error& error);
  void on_late();
  void say_continue();
  void start_body();
  void read_body();
  bool count_body();
  void forget_body();
  void hand_on();
  void on_reply(HttpResponse response);
  void on_overdue();
  void send(HttpResponse response);
  void send_later(HttpResponse response);
  void on_sent(const Error& error);
  void close_kindly();
  void drop_input();
  void close();

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer deadline_;  ///< Of the step in work.
  boost::beast::flat_buffer buffer_;
  HttpShared& shared_;
  HttpPlace place_;
  std::string client_;  ///< HttpRequest::client
  /// In nanoseconds; kBusy, or kGone once the place is another's.
  std::atomic<int64_t> idle_since_;
  std::atomic<bool> is_known_ = false;
  std::optional<Parser> parser_;
  std::optional<HttpMessage> message_;  ///< Being written.
  HttpHead head_;
  HttpManner manner_;
  const char* route_ = "none";  ///< Of the answer being written.
  Timer timer_;                 ///< Since the header was there.
  uint64_t body_bytes_ = 0;     ///< Of shared_.body_bytes.
  bool is_in_work_ = false;     ///< The handler has a request.
  bool reads_header_ = false;   ///< No request is in work.
  bool is_late_ = false;        ///< The step in work took too long.
};

}  // namespace kith
