#include "kith/distributed/reach.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace kith {
namespace {

using Clock = std::chrono::steady_clock;

/// A socket that is closed at the end.
struct Socket {
  int id;
  explicit Socket(int opened) : id(opened) {}
  ~Socket() {
    if (id >= 0) ::close(id);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
};

std::string own_ip(int socket) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  std::array<char, NI_MAXHOST> text = {};
  auto* general = reinterpret_cast<sockaddr*>(&address);
  if (::getsockname(socket, general, &length) != 0 ||
      ::getnameinfo(general, length, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
    return "";
  }
  return text.data();
}

Reached try_address(const addrinfo& address, std::chrono::milliseconds limit) {
  const Socket socket(::socket(
      address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
      address.ai_protocol));
  if (socket.id < 0) return {std::strerror(errno), ""};
  if (::connect(socket.id, address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return {std::strerror(errno), ""};
    pollfd wanted = {socket.id, POLLOUT, 0};
    const auto wait = static_cast<int>(limit.count());
    if (::poll(&wanted, 1, wait) != 1) return {"no answer", ""};
    int error = 0;
    socklen_t length = sizeof(error);
    ::getsockopt(socket.id, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return {std::strerror(error), ""};
  }
  return {"", own_ip(socket.id)};
}

Reached try_host(const std::string& host, int64_t port,
                 std::chrono::milliseconds limit) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(),
                                  &wanted, &found);
  if (error != 0) return {::gai_strerror(error), ""};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(
      found, &::freeaddrinfo);
  Reached last;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    last = try_address(*at, limit);
    if (last.error.empty()) return last;
  }
  return last;
}

}  // namespace

Reached reach(const std::string& host, int64_t port,
              std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kTry{5'000};
  constexpr std::chrono::milliseconds kPause{100};
  const Clock::time_point end = Clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - Clock::now());
    Reached last = try_host(
        host, port, std::clamp(left, std::chrono::milliseconds(1), kTry));
    if (last.error.empty() || Clock::now() + kPause > end) return last;
    std::this_thread::sleep_for(kPause);
  }
}

bool port_is_taken(int64_t port) {
  const Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(socket.id, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  any.sin_port = htons(static_cast<uint16_t>(port));
  const int result =
      ::bind(socket.id, reinterpret_cast<const sockaddr*>(&any), sizeof(any));
  return (result != 0 && errno == EADDRINUSE) || ::listen(socket.id, 1) != 0;
}

}  // namespace kith
