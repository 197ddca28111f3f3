#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kith/core/device.h"
#include "kith/serve/http_server.h"
#include "kith/serve/search_service.h"

namespace kith {

struct ServedFile {
  std::string path = {};
  /// In addresses: letters, digits, '_' and '-'; empty: the file's name without
  /// its ending.
  std::string name = {};
  std::string model = {};  ///< That made it; empty: where the index says.
  /// The least similarity that is an answer, or a threshold.json; empty: the
  /// index's own, if it has one.
  std::string threshold = {};
  /// The folder that pictures must be below to be shown; empty: the index's
  /// own, if it names one.
  std::string pictures_root = {};
};

struct ServeIndexOptions {
  std::string index = {};  ///< One, or the first of several.
  std::string model = {};  ///< That made it; empty: where the index says.
  std::vector<ServedFile> indexes = {};  ///< Others, or all.
  std::string checkpoint = {};  ///< Of runs; empty: what each index says.
  /// What clients must send (see check_token); empty: nothing, which is refused
  /// where other machines can connect.
  std::string token = {};
  /// Clients with the token may add, replace and remove items.
  bool allow_changes = false;
  int64_t pictures_mb = 10'240;  ///< That clients may add, of each index.
  /// How answers are ordered anew; see parse_rerank, search_reranked.
  std::vector<std::string> rerank = {};
  int64_t memory_mb = 4096;  ///< A larger exact index is read in blocks.
  HttpOptions http = {};
  /// Pictures of most phones have fewer pixels. As RGB they take 192 MB on each
  /// thread that decodes, 576 MB while a progressive JPEG is, 704 MB with CMYK.
  /// The descriptor is the model's own.
  ServiceOptions service = {.limits = {.max_pixels = 64'000'000}};
};

/// Indexes with their models behind HTTP: the page for people and the answers
/// for programs of docs/serve.md. An index that changes on disk is loaded
/// again, within a second or two, and on SIGHUP; meanwhile no request fails.
class IndexServer {
 public:
  /// Loads all and binds the address. ConfigError if other machines could
  /// connect, or an index be changed, without a token, or two indexes have one
  /// name; see also HttpServer and load_index_model().
  IndexServer(const ServeIndexOptions& options, c10::Device device);
  ~IndexServer();

  /// Of all indexes.
  int64_t items() const;
  int64_t indexes() const;
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
