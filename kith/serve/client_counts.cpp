#include "kith/serve/client_counts.h"

namespace kith {

int64_t ClientCounts::connections(const std::string& client) const {
  const std::lock_guard lock(mutex_);
  const auto found = clients_.find(client);
  return found == clients_.end() ? 0 : found->second.connections;
}

void ClientCounts::add_connections(const std::string& client, int64_t change) {
  this->change(client, &Counts::connections, change);
}

int64_t ClientCounts::add_body_bytes(const std::string& client,
                                     int64_t change) {
  return this->change(client, &Counts::body_bytes, change).body_bytes;
}

ClientCounts::Counts ClientCounts::change(const std::string& client,
                                          int64_t Counts::*value,
                                          int64_t change) {
  if (client.empty()) return {};
  const std::lock_guard lock(mutex_);
  Counts& counts = clients_[client];
  counts.*value += change;
  const Counts now = counts;
  if (now.connections == 0 && now.body_bytes == 0) clients_.erase(client);
  return now;
}

}  // namespace kith
