#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kith/core/device.h"
#include "kith/serve/http_server.h"
#include "kith/serve/search_service.h"

namespace kith {

struct ServeIndexOptions {
  std::string index = {};
  std::string model = {};  ///< That made it; empty: where the index says.
  /// What clients must send (see check_token); empty: nothing, which is refused
  /// where other machines can connect.
  std::string token = {};
  int64_t memory_mb = 4096;  ///< A larger exact index is read in blocks.
  HttpOptions http = {};
  /// Pictures of most phones have fewer pixels. As RGB they take 192 MB on each
  /// thread that decodes, 576 MB while a progressive JPEG is, 704 MB with CMYK.
  /// The descriptor is the model's own.
  ServiceOptions service = {.limits = {.max_pixels = 64'000'000}};
};

/// An index with its model behind HTTP: the page for people and the answers for
/// programs of docs/serve.md.
class IndexServer {
 public:
  /// Loads all and binds the address. ConfigError if other machines could
  /// connect without a token; see also HttpServer and load_index_model().
  IndexServer(const ServeIndexOptions& options, c10::Device device);
  ~IndexServer();

  const StoredIndex& index() const;
  int port() const;
  std::string url() const;  ///< "http://127.0.0.1:8080/"

  /// Answers until stop(), SIGINT or SIGTERM. Once.
  void run();
  void stop();  ///< From any thread.

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace kith
