#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kith/serve/deadline.h"
#include "kith/serve/http.h"
#include "kith/serve/serve_metrics.h"
#include "kith/serve/served_index.h"

namespace kith {

class ItemChanger;
class PictureStore;
class WorkerPool;
class WrongTokens;
struct Call;
struct CallRules;
struct ItemChange;

struct RouteOptions {
  std::string token;                           ///< Empty: nobody needs one.
  bool allow_changes = false;                  ///< By who has the token.
  int64_t pictures_bytes = int64_t{10} << 30;  ///< That clients may add.
  uint64_t max_body_bytes = 20 << 20;
  double request_seconds = 30;  ///< What is not answered then is given up.
  int64_t workers = 2;          ///< Threads that decode pictures.
  int64_t waiting_jobs = 1024;  ///< For these; more are refused.
  int64_t picture_cache_bytes = 64 << 20;
};

/// What `kith serve` answers (docs/serve.md), without sockets.
class Routes final : public HttpHandler {
 public:
  /// The first index is that of the short addresses.
  Routes(const ServedIndexes& indexes, const ServeMetrics& metrics,
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
  HttpResponse page_file(const Call& call) const;
  HttpResponse metrics() const;
  HttpResponse ready() const;
  ServiceStats service_stats() const;
  HttpResponse indexes() const;
  HttpResponse info(const Call& call) const;
  void search(Call call, HttpRequest request, const Reply& reply);
  void picture(const Call& call, const Reply& reply);
  void add(Call call, HttpRequest request, const Reply& reply);
  void remove(const Call& call, const Reply& reply);
  void change(const Call& call, ItemChange change, const Reply& reply);

  /// A job whose deadline passes before its turn is not begun.
  void hand_on(const Reply& reply, Deadline deadline, Job job);

  const ServedIndexes& indexes_;
  const ServeMetrics& metrics_;
  RouteOptions options_;
  std::unique_ptr<WrongTokens> wrong_tokens_;
  std::unique_ptr<CallRules> rules_;
  std::unique_ptr<PictureStore> pictures_;
  /// Empty if changes are not allowed.
  std::map<const ServedIndex*, std::unique_ptr<ItemChanger>> changers_;
  std::atomic<bool> stopped_ = false;
  std::unique_ptr<WorkerPool> workers_;
};

}  // namespace kith
