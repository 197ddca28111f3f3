#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>

#include "kith/core/timer.h"
#include "tests/serve/http_fixture.h"

namespace kith {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

using HttpWork = HttpServerFixture;

/// An address of this machine by which it is known to others; empty if none is.
std::string outer_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return "";
  std::string found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET ||
        (each->ifa_flags & IFF_LOOPBACK) != 0 ||
        (each->ifa_flags & IFF_UP) == 0) {
      continue;
    }
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET,
                &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr,
                text, sizeof(text));
    found = text;
  }
  ::freeifaddrs(all);
  return found;
}

/// Whether something comes to be true within five seconds.
template <class Question>
bool comes(const Question& question) {
  for (int i = 0; i < 50; ++i) {
    if (question()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

TEST_F(HttpWork, IsAnsweredInTimeOrToldSo) {
  HttpOptions options;
  options.request_seconds = 0.1;
  options.connections = 1;
  start(options);
  const Timer timer;
  const Client client(server_->port());
  client.send(request("GET /later"));  // answered after 0.3 s
  const std::string reply = client.read();
  EXPECT_EQ(status(reply), "HTTP/1.1 503");
  EXPECT_THAT(reply, HasSubstr("took too long"));
  EXPECT_THAT(reply, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(reply, EndsWith("}\n"));  // one answer and no more
  EXPECT_LT(timer.seconds(), 3);
  // Its place is free, also before the work has ended.
  EXPECT_THAT(ask("GET /1"), EndsWith("GET /1 0"));
}

TEST_F(HttpWork, APlaceIsFreeWhenTheWorkIsGivenUp) {
  HttpOptions options;
  options.request_seconds = 0.05;
  options.connections = 4;
  start(options);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(status(ask("GET /later")), "HTTP/1.1 503") << i;
  }
  EXPECT_THAT(ask("GET /1"), EndsWith("GET /1 0"));
}

TEST_F(HttpWork, AWrongTokenIsToldSlowly) {
  HttpOptions options;
  options.connections = 2;
  start(options);
  Timer timer;
  EXPECT_EQ(status(ask("GET /slowly")), "HTTP/1.1 401");
  EXPECT_GT(timer.seconds(), 0.35);
  // The connection may go on.
  const Client client(server_->port());
  client.send(request("GET /slowly"));
  EXPECT_EQ(status(client.read("}\n")), "HTTP/1.1 401");
  client.send(request("GET /2"));
  EXPECT_THAT(client.read("GET /2 0"), EndsWith("GET /2 0"));
  // Who waits for one takes no place from others.
  std::vector<std::unique_ptr<Client>> waiting;
  timer = Timer();
  for (int i = 0; i < 10; ++i) {
    waiting.push_back(std::make_unique<Client>(server_->port()));
    waiting.back()->send(request("GET /slowly"));
  }
  EXPECT_THAT(ask("GET /3"), EndsWith("GET /3 0"));
  EXPECT_LT(timer.seconds(), 3);
}

TEST_F(HttpWork, AClientCannotTakeAllPlaces) {
  const std::string address = outer_address();
  if (address.empty()) GTEST_SKIP() << "this machine has no other address";
  HttpOptions options;
  options.host = "0.0.0.0";
  options.client_connections = 3;
  start(options);
  const auto ask_from_outside = [&](const std::string& line) {
    auto client = std::make_unique<Client>(server_->port(), address.c_str());
    client->send(request(line));
    return client;
  };
  std::vector<std::unique_ptr<Client>> busy;
  for (int i = 0; i < 3; ++i) {
    busy.push_back(std::make_unique<Client>(server_->port(), address.c_str()));
    busy.back()->send(request("POST /x",
                              "Content-Length: 9\r\n"
                              "Expect: 100-continue\r\n"));
    EXPECT_THAT(busy.back()->read("\r\n\r\n"), HasSubstr(" 100 "));
  }
  const std::string reply = ask_from_outside("GET /1")->read();
  EXPECT_EQ(status(reply), "HTTP/1.1 429");
  EXPECT_THAT(reply, HasSubstr("from this address"));
  EXPECT_THAT(reply, HasSubstr("Retry-After: 1"));
  EXPECT_THAT(ask("GET /2"), EndsWith("GET /2 0"));  // another client
  // An idle one of its own makes room.
  busy.front()->send("123456789");
  EXPECT_THAT(busy.front()->read("POST /x 9"), EndsWith("POST /x 9"));
  EXPECT_TRUE(comes([&] {  // the server knows a little later that it is idle
    return ask_from_outside("GET /3")->read("GET /3 0").ends_with("GET /3 0");
  }));
  EXPECT_EQ(busy.front()->read(), "");  // closed
}

TEST_F(HttpWork, AClientCannotTakeAllMemoryForBodies) {
  const std::string address = outer_address();
  if (address.empty()) GTEST_SKIP() << "this machine has no other address";
  HttpOptions options;
  options.host = "0.0.0.0";
  start(options);
  const std::string beginning = request("POST /x", "Content-Length: 1000\r\n");
  const std::string body(1000, 'a');
  std::vector<std::unique_ptr<Client>> clients;
  const auto join = [&](size_t bytes) {
    clients.push_back(
        std::make_unique<Client>(server_->port(), address.c_str()));
    clients.back()->send(beginning + body.substr(0, bytes));
  };
  std::string last;
  // Longer and longer until they have been read, of which nothing can be seen.
  for (int64_t patience = 200; patience < 5000; patience *= 2) {
    clients.clear();
    for (int i = 0; i < 8; ++i) join(999);
    std::this_thread::sleep_for(std::chrono::milliseconds(patience));
    join(1000);
    last = status(clients.back()->read("\r\n\r\n"));
    if (last == "HTTP/1.1 503") break;
  }
  EXPECT_EQ(last, "HTTP/1.1 503");
  EXPECT_THAT(ask("POST /y", "Content-Length: 1000\r\n", body),
              EndsWith("POST /y 1000"));
}

}  // namespace
}  // namespace kith
