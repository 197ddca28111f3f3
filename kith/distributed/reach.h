#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace kith {

/// Whether something listens at an address.
struct Reached {
  std::string error;    ///< Why not; "": it does.
  std::string from_ip;  ///< This machine as seen from there.
};

/// Tries until something listens at `host`:`port`, or the time is over.
Reached reach(const std::string& host, int64_t port,
              std::chrono::milliseconds timeout);

/// Whether another program listens on a port of this machine.
bool port_is_taken(int64_t port);

}  // namespace kith
