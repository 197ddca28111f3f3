#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/timer.h"
#include "tests/serve/http_fixture.h"

namespace kith {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void sleep_ms(int64_t milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

class HttpLimits : public HttpServerFixture {
 protected:
  /// The value of a line of /metrics.
  double metric(const std::string& name) const {
    const std::string text = metrics_.text({}, {});
    const size_t at = text.find("\n" + name + " ");
    return at == std::string::npos
               ? -1
               : std::stod(text.substr(at + name.size() + 2));
  }

  /// Waits for it to come to that, for five seconds.
  bool becomes(const std::string& name, double value) const {
    for (int i = 0; i < 500 && metric(name) != value; ++i) sleep_ms(10);
    return metric(name) == value;
  }

  /// The same for a value that is not above that: a connection counts until it
  /// is closed, which takes a moment.
  bool falls_to(const std::string& name, double most) const {
    for (int i = 0; i < 500 && metric(name) > most; ++i) sleep_ms(10);
    return metric(name) <= most;
  }

  /// A client with a request in work: two of nine bytes have come.
  std::unique_ptr<Client> busy() const {
    auto client = std::make_unique<Client>(server_->port());
    client->send(request("POST /x",
                         "Content-Length: 9\r\n"
                         "Expect: 100-continue\r\n"));
    EXPECT_THAT(client->read("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
    client->send("ab");
    return client;
  }

  /// A client that was answered, and stays. The server knows that the answer
  /// has gone a little later than the client.
  std::unique_ptr<Client> idle(const std::string& fields) const {
    auto client = std::make_unique<Client>(server_->port());
    client->send(request("GET /1", fields));
    EXPECT_THAT(client->read("GET /1 0"), EndsWith("GET /1 0"));
    sleep_ms(200);
    return client;
  }

  /// What a client reads that sends this and waits, in a time that shows that
  /// the server has waited too.
  std::string reply_when_late(const std::string& text) const {
    const Client client(server_->port());
    const Timer timer;
    client.send(text);
    std::string reply = client.read();
    EXPECT_GT(timer.seconds(), 0.2) << text;
    EXPECT_LT(timer.seconds(), 5) << text;
    return reply;
  }
};

TEST_F(HttpLimits, SlowClientsAreToldAndCutOff) {
  HttpOptions options;
  options.header_seconds = 0.3;
  options.body_seconds = 0.3;
  options.idle_seconds = 0.3;
  start(options);
  for (const std::string& text :
       {std::string("GET / HT"), "GET / HTTP/1.1\r\n" + host(),
        request("POST /x", "Content-Length: 9\r\n") + "ab",
        request("POST /x", "Content-Length: 9\r\n")}) {
    const std::string reply = reply_when_late(text);
    EXPECT_EQ(status(reply), "HTTP/1.1 408") << text;
    EXPECT_THAT(reply, HasSubstr("Connection: close\r\n"));
    EXPECT_THAT(reply, HasSubstr("in time"));
    EXPECT_THAT(reply, HasSubstr("\"remedy\""));
  }
  EXPECT_EQ(reply_when_late(""), "");
  EXPECT_THAT(reply_when_late(request("GET /x")), EndsWith("GET /x 0"));
}

TEST_F(HttpLimits, AByteNowAndThenDoesNotHelp) {
  HttpOptions options;
  options.header_seconds = 0.3;
  options.body_seconds = 0.3;
  start(options);
  for (const std::string& text :
       {std::string("GET /"), request("POST /x", "Content-Length: 900\r\n")}) {
    const Client client(server_->port());
    client.send(text);
    for (int i = 0; i < 20; ++i) {
      client.send("a");
      sleep_ms(25);
    }
    EXPECT_EQ(status(client.read()), "HTTP/1.1 408") << text;
  }
}

TEST_F(HttpLimits, ASecondHeaderHasItsOwnTime) {
  HttpOptions options;
  options.header_seconds = 0.3;
  options.idle_seconds = 20;
  start(options);
  const Client client(server_->port());
  client.send(request("GET /1"));
  EXPECT_THAT(client.read("GET /1 0"), EndsWith("GET /1 0"));
  sleep_ms(700);  // idle for longer than a header may take
  client.send(request("GET /2") + "GET");
  EXPECT_THAT(client.read("GET /2 0"), EndsWith("GET /2 0"));
  const Timer timer;
  EXPECT_EQ(status(client.read()), "HTTP/1.1 408");
  EXPECT_LT(timer.seconds(), 5);
  const Client other(server_->port());
  other.send(request("GET /1"));
  EXPECT_THAT(other.read("GET /1 0"), EndsWith("GET /1 0"));
  other.send("GET");
  EXPECT_EQ(status(other.read()), "HTTP/1.1 408");
}

TEST_F(HttpLimits, ASlowReaderIsCutOff) {
  HttpOptions options;
  options.write_seconds = 0.5;
  start(options);
  const Client client(server_->port());
  client.send(request("GET /large"));
  EXPECT_TRUE(becomes("kith_connections", 1));
  EXPECT_TRUE(becomes("kith_connections", 0));
  const std::string reply = client.read();
  EXPECT_EQ(status(reply), "HTTP/1.1 200");
  EXPECT_LT(reply.size(), Echo::kLarge);
}

TEST_F(HttpLimits, TheTimeOfARequestIsThatOfItsAnswerToo) {
  start();
  const Client client(server_->port());
  client.send(request("GET /large", "Connection: close\r\n"));
  sleep_ms(500);
  EXPECT_GT(client.read().size(), Echo::kLarge);
  EXPECT_TRUE(becomes("kith_request_seconds_count{route=\"none\"}", 1));
  EXPECT_GT(metric("kith_request_seconds_sum{route=\"none\"}"), 0.3);
}

TEST_F(HttpLimits, ConnectionsAboveTheLimitAreRefused) {
  HttpOptions options;
  options.connections = 1;
  start(options);
  {
    const auto first = busy();
    const std::string reply = ask("GET /2");
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 503"));
    EXPECT_THAT(reply, HasSubstr("Retry-After: 1"));
  }
  EXPECT_TRUE(becomes("kith_connections", 0));
  EXPECT_THAT(ask("GET /3"), EndsWith("GET /3 0"));
}

TEST_F(HttpLimits, RefusalsTakeNoPlaces) {
  HttpOptions options;
  options.connections = 2;
  start(options);
  auto first = busy();
  const auto second = busy();
  EXPECT_TRUE(becomes("kith_connections", 2));
  // These stay open on the client's side, so the server lingers with them.
  std::vector<std::unique_ptr<Client>> refused;
  for (int i = 0; i < 10; ++i) {
    refused.push_back(std::make_unique<Client>(server_->port()));
    EXPECT_EQ(status(refused.back()->read("}\n")), "HTTP/1.1 503");
  }
  EXPECT_EQ(metric("kith_connections"), 2);
  EXPECT_EQ(metric("kith_connections_refused_total"), 10);
  const Timer timer;
  first.reset();
  EXPECT_TRUE(becomes("kith_connections", 1));
  EXPECT_THAT(ask("GET /2"), EndsWith("GET /2 0"));
  EXPECT_LT(timer.seconds(), 1.5);  // while the refusals are there still
  EXPECT_EQ(metric("kith_connections_refused_total"), 10);
}

TEST_F(HttpLimits, WhoIsIdleLongestMakesRoom) {
  HttpOptions options;
  options.connections = 3;
  start(options);
  const auto working = busy();
  const auto first = idle("");
  const auto second = idle("");
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(ask("GET /next"), EndsWith("GET /next 0")) << i;
    EXPECT_TRUE(falls_to("kith_connections", 3)) << i;
  }
  EXPECT_EQ(first->read(), "");  // closed
  EXPECT_EQ(metric("kith_connections_refused_total"), 0);
  // Whose request is in work has kept its place.
  working->send("1234567");
  EXPECT_THAT(working->read("POST /x 9"), EndsWith("POST /x 9"));
}

TEST_F(HttpLimits, ManyIdleClientsShutNobodyOut) {
  HttpOptions options;
  options.connections = 64;
  start(options);
  std::vector<std::unique_ptr<Client>> held;
  for (int i = 0; i < 200; ++i) {
    held.push_back(std::make_unique<Client>(server_->port()));
    if (i % 2 == 0) held.back()->send("GET / HTTP/1.1\r\nHo");
  }
  const Timer timer;
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(ask("GET /me"), EndsWith("GET /me 0")) << i;
  }
  EXPECT_LT(timer.seconds(), 5);
  EXPECT_EQ(metric("kith_connections_refused_total"), 0);
}

TEST_F(HttpLimits, ClientsThatAreKnownKeepTheirPlacesLonger) {
  HttpOptions options;
  options.connections = 2;
  start(options);
  const auto friendly = idle("Authorization: Bearer friend\r\n");
  const auto other = idle("Authorization: Bearer enemy\r\n");
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(ask("GET /next"), EndsWith("GET /next 0")) << i;
    // One that is still being closed is not idle and keeps its place.
    EXPECT_TRUE(becomes("kith_connections", 1)) << i;
  }
  EXPECT_EQ(other->read(), "");  // closed, though it came later
  friendly->send(request("GET /again"));
  EXPECT_THAT(friendly->read("GET /again 0"), EndsWith("GET /again 0"));
}

TEST_F(HttpLimits, BodiesCountAsFarAsTheyHaveCome) {
  start();
  const std::string beginning = request("POST /x", "Content-Length: 1000\r\n");
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::make_unique<Client>(server_->port()));
    clients.back()->send(beginning + "abc");
  }
  EXPECT_TRUE(becomes("kith_connections", 40));
  const std::string body(1000, 'a');
  EXPECT_THAT(ask("POST /y", "Content-Length: 1000\r\n", body),
              EndsWith("POST /y 1000"));
  // Those that send nearly all of it take nearly all there is.
  for (size_t i = 0; i < 16; ++i) clients[i]->send(std::string(990, 'a'));
  sleep_ms(500);
  const std::string reply = ask("POST /y", "Content-Length: 1000\r\n", body);
  EXPECT_EQ(status(reply), "HTTP/1.1 503");
  EXPECT_THAT(reply, HasSubstr("too many pictures are being received"));
  EXPECT_THAT(ask("GET /z"), EndsWith("GET /z 0"));
  // Their places are free when they are answered.
  for (size_t i = 0; i < 16; ++i) {
    clients[i]->send(std::string(7, 'a'));
    EXPECT_THAT(clients[i]->read("POST /x 1000"), EndsWith("POST /x 1000"));
  }
  EXPECT_THAT(ask("POST /y", "Content-Length: 1000\r\n", body),
              EndsWith("POST /y 1000"));
}

}  // namespace
}  // namespace kith
