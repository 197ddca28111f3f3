#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace kith {

/// What each client has of what all share. Clients are told apart by
/// HttpRequest::client; this machine, where a web server may stand for many,
/// is none and has nothing. Safe to use from several threads.
class ClientCounts {
 public:
  int64_t connections(const std::string& client) const;
  void add_connections(const std::string& client, int64_t change);

  /// Of bodies as far as they came; returns how many it has then.
  int64_t add_body_bytes(const std::string& client, int64_t change);

 private:
  struct Counts {
    int64_t connections = 0;
    int64_t body_bytes = 0;
  };

  /// Those with nothing are forgotten.
  Counts change(const std::string& client, int64_t Counts::*value,
                int64_t change);

  mutable std::mutex mutex_;
  std::map<std::string, Counts> clients_;
};

}  // namespace kith
