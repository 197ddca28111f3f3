#include "kith/use/serve_index.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"
#include "kith/index/index_files.h"
#include "kith/serve/access.h"
#include "kith/serve/index_watch.h"
#include "kith/serve/routes.h"
#include "kith/train/train_options.h"
#include "kith/use/decide.h"
#include "kith/use/embed_images.h"
#include "kith/use/files.h"
#include "kith/use/index_model.h"

namespace kith {
namespace {

void check_access(const ServeIndexOptions& options) {
  const bool is_local = is_loopback(options.http.host);
  if (!options.token.empty()) {
    check_token(options.token, "option 'token'");
  } else if (!is_local) {
    throw ConfigError("option 'host' " + options.http.host +
                      " lets other machines connect, so option 'token' is "
                      "needed");
  }
  if (options.allow_changes && options.token.empty()) {
    throw ConfigError(
        "option 'allow_changes' lets clients change the index, so option "
        "'token' is needed");
  }
}

bool is_index_name(const std::string& name) {
  return !name.empty() && name.size() <= 64 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                  c == '_' || c == '-';
         });
}

/// What is to be served, each with a name of its own.
std::vector<ServedFile> named_files(const ServeIndexOptions& options) {
  std::vector<ServedFile> files = options.indexes;
  if (!options.index.empty()) {
    files.insert(files.begin(), {options.index, "", options.model});
  }
  if (files.empty()) throw ConfigError("option 'index' is needed");
  std::map<std::string, std::string> paths;
  for (ServedFile& file : files) {
    const bool is_own = !file.name.empty();
    if (!is_own) file.name = std::filesystem::path(file.path).stem().string();
    // The name of a single index is in no address that anybody needs.
    if (!is_own && !is_index_name(file.name) && files.size() == 1) {
      file.name = "index";
    }
    if (!is_index_name(file.name)) {
      throw ConfigError("the index " + file.path + " is called " +
                        quote(file.name) +
                        ", but a name must be 1 to 64 letters, digits, '_' and "
                        "'-': give it one, as birds=" +
                        file.path);
    }
    const auto [known, is_new] = paths.emplace(file.name, file.path);
    if (is_new) continue;
    throw ConfigError("two indexes are called '" + file.name + "', " +
                      known->second + " and " + file.path +
                      ": give one another name, as " + file.name +
                      "2=" + file.path);
  }
  return files;
}

/// The folder that pictures must be below, if the server is told one. Without
/// the folder no picture would be shown, which is not left to be found out.
std::string root_of(const ServedFile& file, const StoredIndex& index) {
  const std::string& own = index.info().pictures_root;
  const std::string root =
      file.pictures_root.empty() ? own : absolute_path(file.pictures_root);
  if (root.empty() || is_folder(root))
    return file.pictures_root.empty() ? "" : root;
  throw ConfigError("the pictures of " + file.path + " must be below " + root +
                    ", which is no folder" +
                    (file.pictures_root.empty()
                         ? ": option 'pictures_root' says where they are now"
                         : ""));
}

}  // namespace

struct IndexServer::Parts {
  Parts(const ServeIndexOptions& options, c10::Device device) {
    check_access(options);
    for (const ServedFile& file : named_files(options)) {
      add_index(file, options, device);
    }
    RouteOptions route_options;
    route_options.token = options.token;
    route_options.allow_changes = options.allow_changes;
    route_options.pictures_bytes = options.pictures_mb << 20;
    route_options.max_body_bytes = options.http.max_body_bytes;
    route_options.request_seconds = options.http.request_seconds;
    route_options.workers = worker_count(0);
    routes = std::make_unique<Routes>(indexes, metrics, route_options);
    HttpOptions http = options.http;
    http.on_hangup = [this] { watch->reload(); };
    server = std::make_unique<HttpServer>(http, *routes, metrics);
    watch = std::make_unique<IndexWatch>(indexes);
  }
  // Before the server: replies are for its connections.
  ~Parts() { routes->stop(); }

  /// Indexes of one model and dimension share it.
  void add_index(const ServedFile& file, const ServeIndexOptions& options,
                 c10::Device device) {
    // Before it is opened: what changes meanwhile is seen later.
    const FileMark mark = file_mark(record_path(file.path));
    StoredIndex index = StoredIndex::open(file.path, options.memory_mb, device);
    const std::string from =
        file.model.empty() ? index.info().model : file.model;
    ServedIndexOptions served = {
        file.name,
        file.path,
        from,
        index.info().model_hash,
        options.memory_mb,
        device,
        threshold_for(file.threshold, index.info().model_hash, file.path),
        root_of(file, index)};
    auto& service = services[{from, served.model_hash, index.dim()}];
    if (!service) {
      LoadedModel model = load_index_model(
          index, file.path, {file.model, options.checkpoint}, device);
      ServiceOptions usual = options.service;
      usual.descriptor = usual_embedding(model).descriptor;
      usual.rerank = parse_rerank(options.rerank, "option 'rerank'");
      service = std::make_unique<SearchService>(std::move(model.net), usual);
    }
    indexes.push_back(std::make_unique<ServedIndex>(
        std::move(served), std::move(index), mark, *service));
  }

  /// By where a model is, its hash, and how many numbers of its embeddings.
  std::map<std::tuple<std::string, std::string, int64_t>,
           std::unique_ptr<SearchService>>
      services;
  ServedIndexes indexes;
  ServeMetrics metrics;
  std::unique_ptr<Routes> routes;
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<IndexWatch> watch;
};

IndexServer::IndexServer(const ServeIndexOptions& options, c10::Device device)
    : parts_(std::make_unique<Parts>(options, device)) {}

IndexServer::~IndexServer() = default;

int64_t IndexServer::items() const {
  int64_t items = 0;
  for (const auto& index : parts_->indexes) items += index->stats().items;
  return items;
}

int64_t IndexServer::indexes() const { return std::ssize(parts_->indexes); }

int IndexServer::port() const { return parts_->server->port(); }

std::string IndexServer::url() const { return parts_->server->url(); }

void IndexServer::run() { parts_->server->run(); }

void IndexServer::stop() { parts_->server->stop(); }

}  // namespace kith
