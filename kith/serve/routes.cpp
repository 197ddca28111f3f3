#include "kith/serve/routes.h"

#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "kith/core/timer.h"
#include "kith/image/image_format.h"
#include "kith/serve/access.h"
#include "kith/serve/answers.h"
#include "kith/serve/call.h"
#include "kith/serve/item_changer.h"
#include "kith/serve/new_items.h"
#include "kith/serve/openapi.h"
#include "kith/serve/picture_store.h"
#include "kith/serve/sent_pictures.h"
#include "kith/serve/worker_pool.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

/// Searches that take longer are not on their way to an answer any more.
constexpr double kReadySeconds = 10;

Deadline deadline_of(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

}  // namespace

Routes::Routes(const ServedIndexes& indexes, const ServeMetrics& metrics,
               RouteOptions options)
    : indexes_(indexes),
      metrics_(metrics),
      options_(std::move(options)),
      wrong_tokens_(std::make_unique<WrongTokens>()),
      rules_(std::make_unique<CallRules>()),
      pictures_(std::make_unique<PictureStore>(options_.picture_cache_bytes)) {
  KITH_ASSERT(!indexes_.empty());
  if (options_.allow_changes) {
    for (const auto& index : indexes_) {
      changers_[index.get()] =
          std::make_unique<ItemChanger>(*index, options_.pictures_bytes);
    }
  }
  rules_->token = options_.token;
  rules_->allow_changes = options_.allow_changes;
  rules_->wrong_tokens = wrong_tokens_.get();
  rules_->most_neighbours =
      indexes_.front()->service().options().most_neighbours;
  rules_->indexes = &indexes_;
  workers_ =
      std::make_unique<WorkerPool>(options_.workers, options_.waiting_jobs);
}

Routes::~Routes() { stop(); }

void Routes::stop() {
  stopped_ = true;
  workers_->stop();
  // Embeddings of new items become changes: these end last.
  for (const auto& index : indexes_) index->service().stop();
  for (const auto& [index, changer] : changers_) changer->stop();
}

std::optional<HttpResponse> Routes::refuse(const HttpRequest& head) {
  Call call;
  std::optional<HttpResponse> response = read_call(head, *rules_, call);
  if (response && call.match.route != nullptr) {
    response->route = call.match.route->name;
  }
  return response;
}

bool Routes::knows(const HttpRequest& head) {
  return has_token(head.authorization, options_.token);
}

void Routes::answer(HttpRequest request, Reply reply) {
  Call call;
  call.deadline = deadline_of(options_.request_seconds);
  if (auto refusal = read_call(request, *rules_, call)) {
    return reply(std::move(*refusal));
  }
  const Route& route = *call.match.route;
  const Reply named = [reply = std::move(reply),
                       name = route.name](HttpResponse response) {
    response.route = name;
    reply(std::move(response));
  };
  switch (route.kind) {
    case RouteKind::kSearch:
    case RouteKind::kSimilar:
      return search(std::move(call), std::move(request), named);
    case RouteKind::kPicture:
      return picture(call, named);
    case RouteKind::kFindItem:
      return hand_on(named, call.deadline,
                     [call, named] { named(find_item_answer(call)); });
    case RouteKind::kAddItems:
    case RouteKind::kPutItem:
      return add(std::move(call), std::move(request), named);
    case RouteKind::kRemoveItem:
      return remove(call, named);
    default:
      return named(light_answer(call));
  }
}

HttpResponse Routes::light_answer(const Call& call) const {
  switch (call.match.route->kind) {
    case RouteKind::kIndexes:
      return indexes();
    case RouteKind::kInfo:
      return info(call);
    case RouteKind::kClasses:
      return classes_answer(call);
    case RouteKind::kItem:
      return item_answer(call, call.match.position);
    case RouteKind::kAnyItem:
      return any_item_answer(call);
    case RouteKind::kHealth:
      return json_answer(
          {{"status", "ok"}, {"token_required", !options_.token.empty()}});
    case RouteKind::kReady:
      return ready();
    case RouteKind::kMetrics:
      return metrics();
    case RouteKind::kOpenApi:
      return json_answer(openapi_description());
    default:
      return page_file(call);
  }
}

HttpResponse Routes::page_file(const Call& call) const {
  const std::string name =
      call.target.path.empty() ? "index.html" : call.target.path.back();
  const std::optional<PageFile> file = find_page_file(name);
  if (!file) {
    return error_response(404, "there is nothing at this address",
                          "the page is at /");
  }
  return {200, std::string(file->content_type), std::string(file->contents),
          "no-cache"};
}

ServiceStats Routes::service_stats() const {
  ServiceStats services;
  std::set<const SearchService*> counted;
  for (const auto& index : indexes_) {
    if (!counted.insert(&index->service()).second) continue;
    services.add(index->service().stats());
  }
  return services;
}

HttpResponse Routes::metrics() const {
  std::vector<IndexStats> indexes;
  for (const auto& index : indexes_) indexes.push_back(index->stats());
  return {200, "text/plain; version=0.0.4; charset=utf-8",
          metrics_.text(service_stats(), indexes)};
}

/// For who decides which of several servers gets the next search.
HttpResponse Routes::ready() const {
  const ServiceStats stats = service_stats();
  std::string fault;
  if (stopped_) fault = "the server stops";
  if (stats.queued >= stats.most_queued) fault = "too many searches wait";
  if (stats.longest_wait > kReadySeconds) fault = "a search takes too long";
  if (hanging_calls() >= kMostHangingCalls) fault = "pictures cannot be read";
  if (fault.empty()) return json_answer({{"status", "ready"}});
  return error_response(503, fault, "ask another server, or try again");
}

HttpResponse Routes::indexes() const {
  Json list = Json::array();
  for (const auto& index : indexes_) {
    const std::string& name = index->options().name;
    list.push_back({{"name", name},
                    {"items", index->now()->index->size()},
                    {"address", list.empty() ? std::string("/api")
                                             : "/api/indexes/" + name}});
  }
  return json_answer({{"indexes", list}});
}

HttpResponse Routes::info(const Call& call) const {
  const StoredIndex& index = *call.snapshot->index;
  const ServiceOptions& service = call.index->service().options();
  const auto threshold = call.index->threshold(index);
  return json_answer(
      {{"name", call.index->options().name},
       {"model", call.index->options().model},
       {"index", call.index->options().path},
       {"kind", index.info().kind},
       {"items", index.size()},
       {"dim", index.dim()},
       {"classes", call.snapshot->classes.size()},
       {"threshold", threshold ? Json(threshold->value) : Json()},
       {"token_required", !options_.token.empty()},
       {"changes", options_.allow_changes},
       {"formats", image_formats()},
       {"max_body_bytes", options_.max_body_bytes},
       {"max_pixels", service.limits.max_pixels},
       {"max_neighbours", service.most_neighbours},
       {"rerank", text_of(service.rerank)}});
}

void Routes::hand_on(const Reply& reply, Deadline deadline, Job job) {
  const auto work = [reply, deadline, job = std::move(job)] {
    try {
      if (std::chrono::steady_clock::now() > deadline) {
        throw BusyError("the request waited too long for its turn");
      }
      job();
    } catch (const std::exception&) {
      reply(problem_answer(std::current_exception()));
    }
  };
  if (workers_->post(work)) return;
  reply(error_response(503, "too many requests wait already",
                       "try again in a moment"));
}

void Routes::search(Call call, HttpRequest request, const Reply& reply) {
  const bool with_item = call.match.position >= 0;
  // Shared, for a std::function is copied; and pictures are within it.
  const auto sent = std::make_shared<HttpRequest>(std::move(request));
  SentPictures upload;
  if (!with_item) {
    if (auto fault = read_sent(*sent, *rules_, call, upload)) {
      return reply(std::move(*fault));
    }
  }
  const auto done = [call, reply, timer = Timer()](
                        const std::vector<SearchHit>& hits,
                        const std::exception_ptr& error) {
    reply(error ? problem_answer(error)
                : hits_answer(call, hits, timer.seconds()));
  };
  hand_on(reply, call.deadline, [call, with_item, sent, upload, reply, done] {
    SearchService& service = call.index->service();
    const SharedIndex& index = call.snapshot->index;
    if (with_item) {
      return service.submit_item(
          index, call.index->place_of(*index, call.match.position), call.number,
          call.label, done, call.deadline);
    }
    Image image;
    if (auto fault =
            decode_sent(upload.pictures.front(), sent, service.options().limits,
                        call.deadline, image)) {
      return reply(std::move(*fault));
    }
    sent->body.clear();
    sent->body.shrink_to_fit();
    service.submit(index, image, call.number, call.label, done, call.deadline);
  });
}

void Routes::picture(const Call& call, const Reply& reply) {
  hand_on(reply, call.deadline, [this, call, reply] {
    const ItemPlace place =
        call.index->place_of(*call.snapshot->index, call.match.position);
    // Not to be kept: with another index the same address is another picture.
    reply({200, "image/jpeg",
           pictures_->jpeg(place, static_cast<int>(call.number), call.deadline),
           "no-store"});
  });
}

void Routes::add(Call call, HttpRequest request, const Reply& reply) {
  call.snapshot.reset();  // a change is of what is on disk then
  const auto sent = std::make_shared<HttpRequest>(std::move(request));
  hand_on(reply, call.deadline, [this, call, sent, reply]() mutable {
    SentPictures upload;
    if (auto fault = read_sent(*sent, *rules_, call, upload)) {
      return reply(std::move(*fault));
    }
    embed_new_items(
        call, sent, upload,
        [this, call, reply](ItemChange made) {
          change(call, std::move(made), reply);
        },
        reply);
  });
}

void Routes::remove(const Call& call, const Reply& reply) {
  ItemChange change;
  change.kind = ItemChange::Kind::kRemove;
  change.items.push_back({call.id});
  this->change(call, std::move(change), reply);
}

void Routes::change(const Call& call, ItemChange change, const Reply& reply) {
  Call kept = call;
  kept.snapshot.reset();
  change.done = [call = std::move(kept), reply](const ChangeOutcome& outcome) {
    reply(change_answer(call, outcome));
  };
  try {
    changers_.at(call.index)->push(std::move(change));
  } catch (const std::exception&) {
    reply(problem_answer(std::current_exception()));
  }
}

}  // namespace kith
