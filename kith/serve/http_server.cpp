#include "kith/serve/http_server.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "kith/serve/http_session.h"

namespace kith {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Error = boost::system::error_code;

/// Connections above the limit that are told so at a time; more are closed.
constexpr int64_t kRefusals = 64;

/// What helps where a server cannot bind its address.
std::string bind_remedy(const Error& error) {
  if (error == asio::error::address_family_not_supported ||
      error == boost::system::errc::address_not_available) {
    return "option 'host' must be an address of this machine, such as "
           "127.0.0.1, or 0.0.0.0 for all of them";
  }
  return "take another option 'port' (0: a free one)";
}

asio::ip::address parse_address(const std::string& host) {
  Error error;
  asio::ip::address address =
      asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (!error) return address;
  throw ConfigError("option 'host' '" + host +
                    "': expected an IP address, such as 127.0.0.1 for this "
                    "machine only or 0.0.0.0 for all");
}

}  // namespace

bool is_loopback(const std::string& host) {
  return parse_address(host).is_loopback();
}

/// Accepts connections. The members that others refer to come first.
class HttpServer::Listener {
 public:
  Listener(const HttpOptions& options, HttpHandler& handler,
           ServeMetrics& metrics)
      : shared_{options, handler, metrics},
        io_(static_cast<int>(options.threads)),
        acceptor_(asio::make_strand(io_)),
        retry_(acceptor_.get_executor()),
        deadline_(acceptor_.get_executor()),
        signals_(acceptor_.get_executor(), SIGINT, SIGTERM),
        hangups_(acceptor_.get_executor(), SIGHUP) {
    bind();
  }

  const HttpAddress& address() const { return shared_.address; }

  void run() {
    signals_.async_wait([this](const Error& error, int) {
      if (!error) finish();
    });
    wait_for_hangup();
    asio::post(acceptor_.get_executor(), [this] { accept(); });
    std::vector<std::thread> threads;
    for (int64_t i = 1; i < shared_.options.threads; ++i) {
      threads.emplace_back([this] { work(); });
    }
    work();
    for (std::thread& thread : threads) thread.join();
  }

  void stop() {
    asio::post(acceptor_.get_executor(), [this] { finish(); });
  }

 private:
  void bind() {
    const Tcp::endpoint where(parse_address(shared_.options.host),
                              static_cast<uint16_t>(shared_.options.port));
    Error error;
    const auto then = [&error](auto&& step) {
      if (!error) step();
    };
    then([&] { acceptor_.open(where.protocol(), error); });
    then([&] {
      acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
    });
    then([&] { acceptor_.bind(where, error); });
    then([&] {
      acceptor_.listen(Tcp::acceptor::max_listen_connections, error);
    });
    if (error) {
      throw RunError("cannot serve at " + shared_.options.host + " port " +
                     std::to_string(shared_.options.port) + ": " +
                     error.message() + "; " + bind_remedy(error));
    }
    const std::string name = where.address().to_string();
    shared_.address = {where.address().is_loopback(),
                       where.address().is_v6() ? "[" + name + "]" : name,
                       acceptor_.local_endpoint().port()};
  }

  void wait_for_hangup() {
    hangups_.async_wait([this](const Error& error, int) {
      if (error) return;
      if (shared_.options.on_hangup) shared_.options.on_hangup();
      wait_for_hangup();
    });
  }

  /// A connection that fails, for want of memory say, does not end the rest.
  void work() {
    while (true) {
      try {
        io_.run();
        return;
      } catch (const std::exception& error) {
        log_warning(std::string("a connection failed: ") + error.what());
      }
    }
  }

  void accept() {
    if (shared_.stopping) return;
    acceptor_.async_accept(asio::make_strand(io_),
                           [this](const Error& error, Tcp::socket socket) {
                             if (error == asio::error::operation_aborted)
                               return;
                             if (error) return wait_and_accept(error);
                             open(std::move(socket));
                             accept();
                           });
  }

  /// Such as no more file descriptors: connections that end give some back.
  void wait_and_accept(const Error& error) {
    log_warning("cannot accept a connection: " + error.message());
    retry_.expires_after(std::chrono::milliseconds(100));
    retry_.async_wait([this](const Error& aborted) {
      if (!aborted) accept();
    });
  }

  void open(Tcp::socket socket) {
    std::erase_if(sessions_, [](const auto& weak) { return weak.expired(); });
    const HttpPlace place = find_place(client_of(socket));
    const bool is_refused = place != HttpPlace::kOwn;
    if (is_refused) shared_.metrics.connection_refused();
    if (is_refused && shared_.refusals >= kRefusals) return;
    const auto session =
        std::make_shared<HttpSession>(std::move(socket), shared_, place);
    sessions_.push_back(session);
    session->start();
  }

  HttpPlace find_place(const std::string& client) {
    const HttpOptions& options = shared_.options;
    if (shared_.clients.connections(client) >= options.client_connections) {
      return make_room(client) ? HttpPlace::kOwn : HttpPlace::kNoneOfClient;
    }
    if (shared_.connections < options.connections) return HttpPlace::kOwn;
    return make_room("") ? HttpPlace::kOwn : HttpPlace::kNone;
  }

  /// A client that only holds a connection makes room for a new one: the one
  /// idle longest, of clients without the token if there are any. False
  /// if all have a request in work. Of all clients, or of one.
  bool make_room(const std::string& client) {
    while (true) {
      std::shared_ptr<HttpSession> oldest;
      std::optional<HttpSession::Idle> since;
      for (const auto& weak : sessions_) {
        const auto session = weak.lock();
        const auto idle = session ? session->idle() : std::nullopt;
        if (!client.empty() && session && session->client() != client) continue;
        if (!idle || (since && *since < *idle)) continue;
        oldest = session;
        since = idle;
      }
      if (!oldest) return false;
      if (oldest->make_room(*since)) return true;
    }
  }

  /// Without work left, run() returns by itself.
  void finish() {
    if (shared_.stopping.exchange(true)) return;
    Error ignored;
    acceptor_.close(ignored);
    signals_.cancel(ignored);
    hangups_.cancel(ignored);
    retry_.cancel();
    for (const auto& weak : sessions_) {
      if (const auto session = weak.lock()) session->finish();
    }
    deadline_.expires_after(std::chrono::milliseconds(
        static_cast<int64_t>(shared_.options.finish_seconds * 1000)));
    deadline_.async_wait([this](const Error&) { io_.stop(); });
    wait_for_sessions();
  }

  void wait_for_sessions() {
    if (shared_.connections == 0 && shared_.refusals == 0) {
      deadline_.cancel();
      return;
    }
    retry_.expires_after(std::chrono::milliseconds(20));
    retry_.async_wait([this](const Error&) { wait_for_sessions(); });
  }

  HttpShared shared_;
  std::vector<std::weak_ptr<HttpSession>> sessions_;
  asio::io_context io_;
  Tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  asio::steady_timer deadline_;
  asio::signal_set signals_;
  asio::signal_set hangups_;
};

HttpServer::HttpServer(const HttpOptions& options, HttpHandler& handler,
                       ServeMetrics& metrics)
    : listener_(std::make_unique<Listener>(options, handler, metrics)) {}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return listener_->address().port; }
std::string HttpServer::url() const { return listener_->address().url(); }
void HttpServer::run() { listener_->run(); }
void HttpServer::stop() { listener_->stop(); }

}  // namespace kith
