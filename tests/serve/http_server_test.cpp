#include "kith/serve/http_server.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/timer.h"
#include "tests/serve/http_fixture.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Server : public HttpServerFixture {};

TEST_F(Server, AnswersWithSecurityFields) {
  start();
  const std::string reply = ask("POST /x", "Content-Length: 3\r\n", "abc");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, EndsWith("\r\n\r\nPOST /x 3"));
  EXPECT_THAT(reply, HasSubstr("Content-Security-Policy: default-src 'self'"));
  EXPECT_THAT(reply, HasSubstr("X-Content-Type-Options: nosniff"));
  EXPECT_THAT(reply, HasSubstr("Referrer-Policy: no-referrer"));
  EXPECT_THAT(reply, Not(HasSubstr("Access-Control")));
  const std::string head = ask("HEAD /x");
  EXPECT_THAT(head, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
}

TEST_F(Server, RefusesWithTheRightStatus) {
  start();
  EXPECT_EQ(status(ask("GET /no")), "HTTP/1.1 404");
  EXPECT_EQ(status(ask("POST /x", "Content-Length: 1001\r\n")), "HTTP/1.1 413");
  EXPECT_EQ(status(ask("POST /x", "Content-Length: 99999999999\r\n")),
            "HTTP/1.1 413");
  EXPECT_EQ(status(ask("POST /x", "Transfer-Encoding: chunked\r\n")),
            "HTTP/1.1 411");
  EXPECT_EQ(status(ask("GET /x", "A: " + std::string(9000, 'a') + "\r\n")),
            "HTTP/1.1 431");
  EXPECT_EQ(status(ask("GET /x", "Host: localhost\r\n")), "HTTP/1.1 400");
  EXPECT_EQ(status(ask("POST /x", "Content-Length: x\r\n")), "HTTP/1.1 400");
  EXPECT_EQ(status(ask("POST /x", "Content-Length: 1\r\nExpect: bogus\r\n")),
            "HTTP/1.1 417");
  for (const char* text : {"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
                           "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"}) {
    const Client client(server_->port());
    client.send(text);
    EXPECT_EQ(status(client.read("}\n")), "HTTP/1.1 421");
  }
  for (const char* text :
       {"garbage\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "\x16\x03\x01\x02"
        "\r\n\r\n"}) {
    const Client client(server_->port());
    client.send(text);
    EXPECT_EQ(status(client.read()), "HTTP/1.1 400") << text;
  }
}

TEST_F(Server, KeepsConnectionsAndAnswersInTurn) {
  start();
  const Client client(server_->port());
  std::string text;
  for (const char* target : {"/later", "/2", "/no", "/4"}) {
    text += std::string("GET ") + target + " HTTP/1.1\r\n" + host() + "\r\n";
  }
  client.send(text);
  const std::string replies = client.read("GET /4 0");
  EXPECT_LT(replies.find("GET /later 0"), replies.find("GET /2 0"));
  EXPECT_LT(replies.find("GET /2 0"), replies.find("go home"));
  EXPECT_LT(replies.find("go home"), replies.find("GET /4 0"));
  client.send("POST /5 HTTP/1.1\r\n" + host() +
              "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ab");
  EXPECT_THAT(client.read("POST /5 2"), EndsWith("POST /5 2"));
}

TEST_F(Server, ReadsTargetsWithTheServersName) {
  start();
  const std::string own = "localhost:" + std::to_string(server_->port());
  EXPECT_THAT(ask("GET http://" + own + "/x?k=1"), EndsWith("GET /x?k=1 0"));
  EXPECT_THAT(ask("GET HTTP://" + own), EndsWith("GET / 0"));
  EXPECT_THAT(ask("GET http://" + own + "?k=1"), EndsWith("GET /?k=1 0"));
  EXPECT_EQ(status(ask("GET http://evil.example/x")), "HTTP/1.1 421");
  EXPECT_EQ(status(ask("GET http://" + own + "@evil.example/")),
            "HTTP/1.1 421");
}

TEST_F(Server, AnswersOldClientsTheirWay) {
  start();
  const Client keeps(server_->port());
  for (const char* target : {"/1", "/2"}) {
    keeps.send(std::string("GET ") + target + " HTTP/1.0\r\n" + host() +
               "Connection: keep-alive\r\n\r\n");
    const std::string reply = keeps.read(std::string("GET ") + target + " 0");
    EXPECT_EQ(status(reply), "HTTP/1.0 200");
    EXPECT_THAT(reply, HasSubstr("Connection: keep-alive\r\n"));
  }
  const Client closes(server_->port());
  closes.send("POST /3 HTTP/1.0\r\n" + host() +
              "Expect: 100-continue\r\nContent-Length: 1\r\n\r\na");
  const std::string reply = closes.read();
  EXPECT_EQ(status(reply), "HTTP/1.0 200");
  EXPECT_THAT(reply, EndsWith("POST /3 1"));
}

TEST_F(Server, IsCalledByTheAddressItHas) {
  HttpOptions options;
  options.host = "127.0.0.2";
  start(options);
  const std::string own = "127.0.0.2:" + std::to_string(server_->port());
  EXPECT_EQ(server_->url(), "http://" + own + "/");
  const auto reply_to = [&](const std::string& name) {
    const Client client(server_->port(), "127.0.0.2");
    client.send("GET /x HTTP/1.1\r\nHost: " + name +
                "\r\nConnection: close\r\n\r\n");
    return client.read();
  };
  EXPECT_THAT(reply_to(own), EndsWith("GET /x 0"));
  const std::string refusal = reply_to("evil.example");
  EXPECT_EQ(status(refusal), "HTTP/1.1 421");
  EXPECT_THAT(refusal, HasSubstr("open http://" + own + "/"));
}

TEST_F(Server, AnswersOverIpv6) {
  HttpOptions options;
  options.host = "::1";
  try {
    start(options);
  } catch (const RunError& error) {
    GTEST_SKIP() << error.what();
  }
  const std::string own = "[::1]:" + std::to_string(server_->port());
  EXPECT_EQ(server_->url(), "http://" + own + "/");
  const auto reply_to = [&](const std::string& name) {
    const Client client(server_->port(), "::1");
    client.send("GET /x HTTP/1.1\r\nHost: " + name +
                "\r\nConnection: close\r\n\r\n");
    return client.read();
  };
  EXPECT_THAT(reply_to(own), EndsWith("GET /x 0"));
  EXPECT_THAT(reply_to("evil.example"), HasSubstr("open http://" + own + "/"));
}

TEST_F(Server, FinishesWhatIsInWorkWhenItStops) {
  start();
  const Client idle(server_->port());
  idle.send("GET /1 HTTP/1.1\r\n" + host() + "\r\n");
  EXPECT_THAT(idle.read("GET /1 0"), EndsWith("GET /1 0"));
  const Client busy(server_->port());
  busy.send("GET /later HTTP/1.1\r\n" + host() + "\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Timer timer;
  server_->stop();
  EXPECT_EQ(idle.read(), "");
  EXPECT_THAT(busy.read("GET /later 0"), EndsWith("GET /later 0"));
  thread_.join();
  EXPECT_LT(timer.seconds(), 4);
}

TEST_F(Server, SaysWhyItCannotStart) {
  start();
  HttpOptions options;
  options.port = server_->port();
  expect_error<RunError>([&] { HttpServer(options, echo_, metrics_); },
                         std::to_string(options.port), "option 'port'");
  options.host = "example.org";
  expect_error<ConfigError>([&] { HttpServer(options, echo_, metrics_); },
                            "example.org", "IP address");
  options.host = "192.0.2.1";  // for examples: no machine has it
  expect_error<RunError>([&] { HttpServer(options, echo_, metrics_); },
                         "192.0.2.1", "option 'host' must be an address");
  EXPECT_TRUE(is_loopback("localhost"));
  EXPECT_TRUE(is_loopback("127.0.0.2"));
  EXPECT_TRUE(is_loopback("::1"));
  EXPECT_FALSE(is_loopback("0.0.0.0"));
  EXPECT_EQ(server_->url(),
            "http://127.0.0.1:" + std::to_string(server_->port()) + "/");
}

}  // namespace
}  // namespace kith
