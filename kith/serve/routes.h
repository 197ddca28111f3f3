#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kith/serve/http.h"
#include "kith/serve/search_service.h"
#include "kith/serve/serve_metrics.h"

namespace kith {

class PictureStore;
class WorkerPool;
class WrongTokens;
struct Call;
struct CallRules;

struct RouteOptions {
  std::string model;  ///< What was given to the command, for /api/info.
  std::string index;
  std::string token;  ///< Empty: nobody needs one.
  uint64_t max_body_bytes = 20 << 20;
  int64_t workers = 2;          ///< Threads that decode pictures.
  int64_t waiting_jobs = 1024;  ///< For these; more are refused.
  int64_t picture_cache_bytes = 64 << 20;
};

/// What `kith serve` answers (docs/serve.md), without sockets.
class Routes final : public HttpHandler {
 public:
  Routes(SearchService& service, const ServeMetrics& metrics,
         RouteOptions options);
  ~Routes() override;

  std::optional<HttpResponse> refuse(const HttpRequest& head) override;
  bool knows(const HttpRequest& head) override;
  void answer(HttpRequest request, Reply reply) override;

  /// Ends the work that was handed on; no reply is called afterwards.
  void stop();

 private:
  using Job = std::function<void()>;

  HttpResponse light_answer(const Call& call) const;
  HttpResponse info() const;
  HttpResponse classes() const;
  void search(const Call& call, HttpRequest request, const Reply& reply);
  void picture(const Call& call, const Reply& reply);

  void hand_on(const Reply& reply, Job job);

  SearchService& service_;
  const ServeMetrics& metrics_;
  RouteOptions options_;
  std::map<std::string, int64_t> classes_;  ///< Items by label.
  std::unique_ptr<WrongTokens> wrong_tokens_;
  std::unique_ptr<CallRules> rules_;
  std::unique_ptr<PictureStore> pictures_;
  std::unique_ptr<WorkerPool> workers_;
};

}  // namespace kith
