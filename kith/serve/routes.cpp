#include "kith/serve/routes.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "kith/core/log.h"
#include "kith/core/timer.h"
#include "kith/serve/access.h"
#include "kith/serve/answers.h"
#include "kith/serve/call.h"
#include "kith/serve/picture_store.h"
#include "kith/serve/worker_pool.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

/// What is told of an exception that is not the client's fault: the details
/// are for the log.
HttpResponse problem(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const BusyError& busy) {
    return error_response(503, busy.what(), "try again in a moment");
  } catch (const ItemPictureError& gone) {
    log_warning(gone.what());
    return error_response(
        404,
        "the file of item " + std::to_string(gone.position()) +
            " cannot be read",
        "it may have been moved since the index was made: the server's log "
        "says more");
  } catch (const std::exception& other) {
    log_warning(std::string("a request failed: ") + other.what());
    return error_response(500, "the server could not do this",
                          "the server's log says why");
  }
}

/// Decodes what a client sent, or says what is wrong with it.
std::optional<HttpResponse> decode_body(const std::string& body,
                                        const DecodeLimits& limits,
                                        Image& image) {
  try {
    image = decode_image(
        {reinterpret_cast<const uint8_t*>(body.data()), body.size()},
        "the picture", limits);
    return {};
  } catch (const TooLargeError& large) {
    return error_response(413, large.what(),
                          "make the picture smaller and try again");
  } catch (const DataError& data) {
    return error_response(400, data.what(), "try another picture");
  }
}

/// PNG or JPEG by its first bytes; whether it is whole the decoder tells.
bool looks_like_picture(const std::string& bytes) {
  return bytes.starts_with("\xff\xd8\xff") ||
         bytes.starts_with("\x89PNG\r\n\x1a\n");
}

}  // namespace

Routes::Routes(SearchService& service, const ServeMetrics& metrics,
               RouteOptions options)
    : service_(service),
      metrics_(metrics),
      options_(std::move(options)),
      wrong_tokens_(std::make_unique<WrongTokens>()),
      rules_(std::make_unique<CallRules>()),
      pictures_(std::make_unique<PictureStore>(service.index(),
                                               options_.picture_cache_bytes)),
      workers_(std::make_unique<WorkerPool>(options_.workers,
                                            options_.waiting_jobs)) {
  const StoredIndex& index = service.index();
  for (int64_t i = 0; i < index.count(); ++i) {
    if (!index.is_removed(i)) {
      ++classes_[std::string(index.items().label(i))];
    }
  }
  classes_.erase("");  // items without a class
  rules_->token = options_.token;
  rules_->wrong_tokens = wrong_tokens_.get();
  rules_->most_neighbours = service.options().most_neighbours;
  rules_->has_item = [&index](int64_t position) {
    return position < index.count() && !index.is_removed(position);
  };
  rules_->has_class = [this](const std::string& label) {
    return classes_.count(label) != 0;
  };
}

Routes::~Routes() { stop(); }

void Routes::stop() {
  workers_->stop();
  service_.stop();
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
      return search(call, std::move(request), named);
    case RouteKind::kPicture:
      return picture(call, named);
    default:
      return named(light_answer(call));
  }
}

HttpResponse Routes::light_answer(const Call& call) const {
  switch (call.match.route->kind) {
    case RouteKind::kInfo:
      return info();
    case RouteKind::kClasses:
      return classes();
    case RouteKind::kItem:
      return item_answer(service_.index(), call.match.position);
    case RouteKind::kAnyItem:
      return any_item_answer(service_.index());
    case RouteKind::kHealth:
      return json_answer(
          {{"status", "ok"}, {"token_required", !options_.token.empty()}});
    case RouteKind::kMetrics:
      return {200, "text/plain; version=0.0.4; charset=utf-8",
              metrics_.text(service_.stats(), service_.index().size())};
    default:
      break;
  }
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

HttpResponse Routes::info() const {
  const StoredIndex& index = service_.index();
  return json_answer({{"model", options_.model},
                      {"index", options_.index},
                      {"kind", index.info().kind},
                      {"items", index.size()},
                      {"dim", index.dim()},
                      {"classes", classes_.size()},
                      {"token_required", !options_.token.empty()},
                      {"max_body_bytes", options_.max_body_bytes},
                      {"max_pixels", service_.options().limits.max_pixels},
                      {"max_neighbours", service_.options().most_neighbours}});
}

HttpResponse Routes::classes() const {
  Json list = Json::array();
  for (const auto& [label, count] : classes_) {
    list.push_back({{"label", label}, {"count", count}});
  }
  return json_answer({{"classes", list}});
}

void Routes::hand_on(const Reply& reply, Job job) {
  const bool has_place = workers_->post([reply, job = std::move(job)] {
    try {
      job();
    } catch (const std::exception&) {
      reply(problem(std::current_exception()));
    }
  });
  if (has_place) return;
  reply(error_response(503, "too many requests wait already",
                       "try again in a moment"));
}

void Routes::search(const Call& call, HttpRequest request, const Reply& reply) {
  const bool with_item = call.match.position >= 0;
  if (!with_item && !looks_like_picture(request.body)) {
    return reply(not_a_picture());
  }
  const auto done = [this, reply, timer = Timer()](
                        const std::vector<SearchHit>& hits,
                        const std::exception_ptr& error) {
    reply(error ? problem(error)
                : hits_answer(service_.index(), hits, timer.seconds()));
  };
  const int64_t position = call.match.position;
  // Shared, for a std::function is copied.
  const auto body = std::make_shared<std::string>(std::move(request.body));
  hand_on(reply, [this, with_item, position, k = call.number,
                  label = call.label, body, reply, done] {
    if (with_item) return service_.submit_item(position, k, label, done);
    Image image;
    if (auto fault = decode_body(*body, service_.options().limits, image)) {
      return reply(std::move(*fault));
    }
    body->clear();
    body->shrink_to_fit();
    service_.submit(image, k, label, done);
  });
}

void Routes::picture(const Call& call, const Reply& reply) {
  hand_on(reply, [this, reply, position = call.match.position,
                  side = static_cast<int>(call.number)] {
    // Not to be kept: with another index the same address is another picture.
    reply({200, "image/jpeg", pictures_->jpeg(position, side), "no-store"});
  });
}

}  // namespace kith
