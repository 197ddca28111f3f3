#include "kith/serve/http_session.h"

#include <chrono>
#include <string>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "kith/core/log.h"
#include "kith/core/quote.h"

namespace kith {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Clock = std::chrono::steady_clock;

constexpr size_t kBufferBytes = 64 << 10;
/// How many of the largest bodies may be in memory at a time.
constexpr uint64_t kBodies = 16;
/// Of these, how many of one client.
constexpr uint64_t kBodiesOfClient = kBodies / 2;
/// For the client to read an answer that ends the connection.
constexpr double kCloseSeconds = 2;
constexpr double kCloseSecondsAtTheEnd = 0.2;
constexpr double kCancelAgainSeconds = 0.05;

/// Values of idle_since_ that are no time.
constexpr int64_t kBusy = -1;
constexpr int64_t kGone = -2;

std::chrono::milliseconds duration(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

}  // namespace

std::string client_of(const asio::ip::tcp::socket& socket) {
  boost::system::error_code error;
  const asio::ip::tcp::endpoint end = socket.remote_endpoint(error);
  if (error || end.address().is_loopback()) return "";
  if (end.address().is_v4()) return end.address().to_string();
  const asio::ip::address_v6 address = end.address().to_v6();
  if (address.is_v4_mapped()) {
    const auto four = asio::ip::make_address_v4(asio::ip::v4_mapped, address);
    return four.is_loopback() ? "" : four.to_string();
  }
  return asio::ip::make_network_v6(address, 64).canonical().to_string();
}

HttpSession::HttpSession(asio::ip::tcp::socket socket, HttpShared& shared,
                         HttpPlace place)
    : socket_(std::move(socket)),
      deadline_(socket_.get_executor()),
      buffer_(kBufferBytes),
      shared_(shared),
      place_(place),
      client_(client_of(socket_)),
      idle_since_(kBusy) {
  if (place_ != HttpPlace::kOwn) {
    ++shared_.refusals;
  } else {
    ++shared_.connections;
    shared_.clients.add_connections(client_, 1);
    shared_.metrics.connection_opened();
  }
}

HttpSession::~HttpSession() {
  forget_body();
  if (place_ != HttpPlace::kOwn) {
    --shared_.refusals;
  } else if (idle_since_ != kGone) {
    leave_place();
  }
}

void HttpSession::leave_place() {
  --shared_.connections;
  shared_.clients.add_connections(client_, -1);
  shared_.metrics.connection_closed();
}

std::optional<HttpSession::Idle> HttpSession::idle() const {
  const int64_t since = idle_since_;
  if (since < 0) return {};
  return Idle{is_known_, since};
}

bool HttpSession::make_room(const Idle& idle) {
  int64_t since = idle.since;
  if (!idle_since_.compare_exchange_strong(since, kGone)) return false;
  leave_place();
  asio::post(socket_.get_executor(),
             [self = shared_from_this()] { self->close(); });
  return true;
}

void HttpSession::become_idle() {
  idle_since_ =
      std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
}

/// False if the place is another's by now.
bool HttpSession::become_busy() {
  int64_t since = idle_since_;
  while (since != kGone) {
    if (idle_since_.compare_exchange_weak(since, kBusy)) return true;
  }
  return false;
}

void HttpSession::start() {
  asio::dispatch(socket_.get_executor(), [self = shared_from_this()] {
    if (self->place_ == HttpPlace::kNone) {
      return self->send(error_response(503, "too many connections are open",
                                       "try again in a moment"));
    }
    if (self->place_ == HttpPlace::kNoneOfClient) {
      return self->send(
          error_response(429, "too many connections are open from this address",
                         "close some, or try again in a moment"));
    }
    self->become_idle();
    self->limit(self->shared_.options.header_seconds);
    self->read_header();
  });
}

void HttpSession::finish() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->reads_header_) self->close();
  });
}

/// Gives the next step so long. What it reads or writes is cancelled then, and
/// is_late_ tells why. (The limits of beast::tcp_stream close the socket: no
/// answer could be sent.)
void HttpSession::limit(double seconds) {
  is_late_ = false;
  deadline_.expires_after(duration(seconds));
  wait_for_deadline();
}

void HttpSession::wait_for_deadline() {
  deadline_.async_wait([weak = weak_from_this()](const Error& error) {
    const auto self = weak.lock();
    if (error || !self) return;
    // Just when the time was over the next step may have begun.
    if (self->deadline_.expiry() > Clock::now()) return;
    if (self->is_in_work_) return self->on_overdue();
    self->is_late_ = true;
    Error ignored;
    self->socket_.cancel(ignored);
    // Until the step ends: this time it may have been between two reads.
    self->deadline_.expires_after(duration(kCancelAgainSeconds));
    self->wait_for_deadline();
  });
}

/// The next one of a connection: it may be idle for a while, but not take long
/// once it has begun to ask.
void HttpSession::wait_for_request() {
  if (shared_.stopping) return close();
  reads_header_ = true;
  become_idle();
  if (buffer_.size() > 0) {
    limit(shared_.options.header_seconds);
    return read_header();
  }
  limit(shared_.options.idle_seconds);
  socket_.async_read_some(
      buffer_.prepare(kMaxHeaderBytes),
      [self = shared_from_this()](const Error& error, size_t count) {
        if (error) return self->close();
        self->buffer_.commit(count);
        self->limit(self->shared_.options.header_seconds);
        self->read_header();
      });
}

void HttpSession::read_header() {
  if (shared_.stopping) return close();
  parser_.emplace();
  parser_->header_limit(kMaxHeaderBytes);
  parser_->body_limit(shared_.options.max_body_bytes);
  reads_header_ = true;
  http::async_read_header(
      socket_, buffer_, *parser_,
      [self = shared_from_this()](const Error& error, size_t) {
        self->on_header(error);
      });
}

void HttpSession::on_header(const Error& error) {
  if (!become_busy()) return close();
  reads_header_ = false;
  timer_ = Timer();
  head_ = {};
  manner_ = {};
  if (error) return on_bad_request(error);
  const auto& fields = parser_->get();
  head_ = read_head(fields);
  head_.request.body_bytes = parser_->content_length().value_or(0);
  head_.request.client = client_;
  is_known_ = shared_.handler.knows(head_.request);
  manner_ = {fields.version(), head_.is_head, fields.keep_alive()};
  std::optional<HttpResponse> refusal =
      check_head(fields, head_, shared_.address);
  if (!refusal) refusal = shared_.handler.refuse(head_.request);
  if (refusal) {
    // A body that is not read would be taken for the next request.
    manner_.keep = manner_.keep && parser_->is_done();
    return send(std::move(*refusal));
  }
  if (head_.wants_continue) return say_continue();
  start_body();
}

/// What can still be said to who sends no HTTP; nothing to who has gone.
void HttpSession::on_bad_request(const Error& error) {
  manner_.keep = false;
  if (is_late_) return on_late();
  auto response = malformed_request(error, shared_.options.max_body_bytes);
  if (!response) return close();
  send(std::move(*response));
}

/// A client that has not begun to ask is not told.
void HttpSession::on_late() {
  if (parser_->is_header_done()) {
    return send(error_response(408, "the picture did not come in time",
                               "send it faster, or a smaller one"));
  }
  if (buffer_.size() == 0 && !parser_->got_some()) return close();
  send(error_response(408, "the header of the request did not come in time",
                      "send it as a whole"));
}

/// For a client that asks before it sends a body.
void HttpSession::say_continue() {
  static const std::string line = "HTTP/1.1 100 Continue\r\n\r\n";
  limit(shared_.options.write_seconds);
  asio::async_write(socket_, asio::buffer(line),
                    [self = shared_from_this()](const Error& error, size_t) {
                      if (error) return self->close();
                      self->start_body();
                    });
}

void HttpSession::start_body() {
  parser_->eager(true);
  limit(shared_.options.body_seconds);
  read_body();
}

void HttpSession::read_body() {
  if (parser_->is_done()) return hand_on();
  http::async_read_some(
      socket_, buffer_, *parser_,
      [self = shared_from_this()](const Error& error, size_t) {
        if (error) return self->on_bad_request(error);
        if (self->count_body()) return self->read_body();
        self->manner_.keep = false;
        self->send(error_response(503, "too many pictures are being received",
                                  "try again in a moment"));
      });
}

/// Bounds what the bodies of all connections take. They count as far as they
/// have come: who only says that there will be one takes nothing from others.
bool HttpSession::count_body() {
  const uint64_t more = parser_->get().body().size() - body_bytes_;
  body_bytes_ += more;
  const uint64_t largest = shared_.options.max_body_bytes;
  const auto of_client = static_cast<uint64_t>(
      shared_.clients.add_body_bytes(client_, static_cast<int64_t>(more)));
  return shared_.body_bytes.fetch_add(more) + more <= kBodies * largest &&
         of_client <= kBodiesOfClient * largest;
}

void HttpSession::forget_body() {
  shared_.body_bytes -= body_bytes_;
  shared_.clients.add_body_bytes(client_, -static_cast<int64_t>(body_bytes_));
  body_bytes_ = 0;
}

void HttpSession::hand_on() {
  is_in_work_ = true;
  limit(shared_.options.request_seconds);
  HttpRequest request = head_.request;
  request.body = std::move(parser_->get().body());
  shared_.handler.answer(
      std::move(request),
      [self = shared_from_this()](HttpResponse response) mutable {
        asio::post(self->socket_.get_executor(),
                   [self, response = std::move(response)]() mutable {
                     self->on_reply(std::move(response));
                   });
      });
}

void HttpSession::on_reply(HttpResponse response) {
  if (!is_in_work_) return;  // too late
  is_in_work_ = false;
  send(std::move(response));
}

/// Who has the request may reply still, when nobody waits for it any more.
void HttpSession::on_overdue() {
  is_in_work_ = false;
  manner_.keep = false;
  send(error_response(503, "the server took too long to answer",
                      "try again in a moment"));
}

/// Who waits here makes room for others, as who is idle does.
void HttpSession::send_later(HttpResponse response) {
  become_idle();
  deadline_.expires_after(duration(response.delay_seconds));
  response.delay_seconds = 0;
  deadline_.async_wait(
      [self = shared_from_this(),
       response = std::move(response)](const Error& error) mutable {
        if (error || !self->become_busy()) return self->close();
        self->send(std::move(response));
      });
}

void HttpSession::send(HttpResponse response) {
  if (response.delay_seconds > 0) return send_later(std::move(response));
  manner_.keep = manner_.keep && !shared_.stopping;
  route_ = response.route;
  message_.emplace(make_message(std::move(response), manner_));
  limit(shared_.options.write_seconds);
  http::async_write(socket_, *message_,
                    [self = shared_from_this()](const Error& error, size_t) {
                      self->on_sent(error);
                    });
}

void HttpSession::on_sent(const Error& error) {
  const auto status = static_cast<int>(message_->result_int());
  const double seconds = timer_.seconds();
  message_.reset();
  shared_.metrics.answered(route_, status, seconds);
  if (shared_.options.log_requests) {
    log_info(head_.request.method + " " + quote(head_.request.target) + " " +
             std::to_string(status) + " " +
             std::to_string(static_cast<int64_t>(seconds * 1e3)) + " ms");
  }
  forget_body();
  if (error) return close();
  if (!manner_.keep) return close_kindly();
  wait_for_request();
}

/// A socket that is closed with input unread throws away the answer too: says
/// that nothing more comes and drops what the client still sends, for a while.
void HttpSession::close_kindly() {
  Error ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  parser_.reset();
  buffer_.clear();
  if (place_ == HttpPlace::kOwn) become_idle();
  limit(shared_.stopping ? kCloseSecondsAtTheEnd : kCloseSeconds);
  drop_input();
}

void HttpSession::drop_input() {
  socket_.async_read_some(
      buffer_.prepare(kBufferBytes),
      [self = shared_from_this()](const Error& error, size_t) {
        if (error || self->is_late_ || self->shared_.stopping) {
          return self->close();
        }
        self->drop_input();
      });
}

/// The place is free then, also while the handler still has a request that was
/// given up, and with it this session.
void HttpSession::close() {
  if (place_ == HttpPlace::kOwn && idle_since_.exchange(kGone) != kGone) {
    leave_place();
  }
  Error ignored;
  socket_.close(ignored);
}

}  // namespace kith
