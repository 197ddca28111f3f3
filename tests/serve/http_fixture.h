#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "kith/serve/http_server.h"

namespace kith {

/// Says what came; /no is refused, /slowly only after a while, /later is
/// answered from another thread, /large with more than sockets hold.
class Echo final : public HttpHandler {
 public:
  static constexpr size_t kLarge = 32 << 20;

  ~Echo() override { finish(); }

  /// Returns when all replies are given: the server must be there until then.
  void finish() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  std::optional<HttpResponse> refuse(const HttpRequest& head) override {
    if (head.target == "/no") return error_response(404, "nothing", "go home");
    if (head.target == "/slowly") {
      HttpResponse response = error_response(401, "wrong", "think");
      response.delay_seconds = 0.4;
      return response;
    }
    return {};
  }

  bool knows(const HttpRequest& head) override {
    return head.authorization == "Bearer friend";
  }

  void answer(HttpRequest request, Reply reply) override {
    HttpResponse response;
    response.body = request.method + " " + request.target + " " +
                    std::to_string(request.body.size());
    if (request.target == "/large") response.body.assign(kLarge, 'x');
    if (request.target != "/later") return reply(response);
    threads_.emplace_back([reply, response] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      reply(response);
    });
  }

 private:
  std::vector<std::thread> threads_;
};

/// A connection that sends any bytes.
class Client {
 public:
  explicit Client(int port, const char* host = "127.0.0.1") {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    EXPECT_EQ(::getaddrinfo(host, std::to_string(port).c_str(), &hints, &found),
              0);
    socket_ = ::socket(found->ai_family, SOCK_STREAM, 0);
    const timeval limit{10, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    EXPECT_EQ(::connect(socket_, found->ai_addr, found->ai_addrlen), 0);
    ::freeaddrinfo(found);
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(const std::string& text) const {
    ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
  }

  /// What comes until the text ends so, or the connection.
  std::string read(const std::string& end = "") const {
    std::string all;
    char buffer[4096];
    while (end.empty() || !all.ends_with(end)) {
      const ssize_t count = ::recv(socket_, buffer, sizeof(buffer), 0);
      if (count <= 0) break;
      all.append(buffer, static_cast<size_t>(count));
    }
    return all;
  }

 private:
  int socket_ = -1;
};

/// A server that answers as Echo does, with bodies of at most 1000 bytes.
class HttpServerFixture : public ::testing::Test {
 protected:
  void start(HttpOptions options = {}) {
    options.port = 0;
    options.max_body_bytes = 1000;
    server_ = std::make_unique<HttpServer>(options, echo_, metrics_);
    thread_ = std::thread([this] { server_->run(); });
  }

  void TearDown() override {
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
    echo_.finish();
  }

  std::string host() const {
    return "Host: localhost:" + std::to_string(server_->port()) + "\r\n";
  }

  /// The beginning of a request, whole if it has no body.
  std::string request(const std::string& line,
                      const std::string& fields = "") const {
    return line + " HTTP/1.1\r\n" + host() + fields + "\r\n";
  }

  /// A whole exchange on a connection of its own.
  std::string ask(const std::string& line, const std::string& fields = "",
                  const std::string& body = "") const {
    const Client client(server_->port());
    client.send(request(line, fields + "Connection: close\r\n") + body);
    return client.read();
  }

  static std::string status(const std::string& reply) {
    return reply.substr(0, 12);
  }

  Echo echo_;
  ServeMetrics metrics_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

}  // namespace kith
