#include "kith/use/serve_index.h"

#include "kith/core/error.h"
#include "kith/serve/access.h"
#include "kith/serve/routes.h"
#include "kith/train/train_options.h"
#include "kith/use/embed_images.h"
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
}

SearchService make_service(const ServeIndexOptions& options,
                           c10::Device device) {
  check_access(options);
  StoredIndex index =
      StoredIndex::open(options.index, options.memory_mb, device);
  LoadedModel model =
      load_index_model(index, options.index, options.model, device);
  ServiceOptions service = options.service;
  service.descriptor = usual_embedding(model).descriptor;
  return {std::move(model.net), std::move(index), service};
}

RouteOptions route_options(const ServeIndexOptions& options,
                           const StoredIndex& index) {
  RouteOptions routes;
  routes.model = options.model.empty() ? index.info().model : options.model;
  routes.index = options.index;
  routes.token = options.token;
  routes.max_body_bytes = options.http.max_body_bytes;
  routes.workers = worker_count(0);
  return routes;
}

}  // namespace

struct IndexServer::Parts {
  Parts(const ServeIndexOptions& options, c10::Device device)
      : service(make_service(options, device)),
        routes(service, metrics, route_options(options, service.index())),
        server(options.http, routes, metrics) {}
  // Before the server: replies are for its connections.
  ~Parts() { routes.stop(); }

  SearchService service;
  ServeMetrics metrics;
  Routes routes;
  HttpServer server;
};

IndexServer::IndexServer(const ServeIndexOptions& options, c10::Device device)
    : parts_(std::make_unique<Parts>(options, device)) {}

IndexServer::~IndexServer() = default;

const StoredIndex& IndexServer::index() const {
  return parts_->service.index();
}

int IndexServer::port() const { return parts_->server.port(); }

std::string IndexServer::url() const { return parts_->server.url(); }

void IndexServer::run() { parts_->server.run(); }

void IndexServer::stop() { parts_->server.stop(); }

}  // namespace kith
