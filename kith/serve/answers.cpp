#include "kith/serve/answers.h"

#include <random>
#include <string>

#include <nlohmann/json.hpp>

#include "kith/core/json_text.h"
#include "kith/core/log.h"
#include "kith/core/quote.h"
#include "kith/serve/assets.h"
#include "kith/serve/picture_store.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

Json item_json(const Call& call, const AddedItem& item) {
  Json json = {{"position", item.position}};
  set_path(json, "id", item.id);
  json["label"] = item.label;
  set_path(json, "path", item.path);
  json["image"] =
      call.base() + "/items/" + std::to_string(item.position) + "/image";
  return json;
}

Json item_json(const Call& call, int64_t position) {
  const StoredIndex& index = *call.snapshot->index;
  const IndexItem item = index.item(position);
  return item_json(call,
                   {position, std::string(call.index->id_of(index, position)),
                    item.label, item.path});
}

std::string_view content_type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "application/octet-stream";
}

}  // namespace

HttpResponse json_answer(const Json& json) {
  HttpResponse response;
  response.body = json_text(json, -1) + "\n";
  return response;
}

HttpResponse item_answer(const Call& call, int64_t position) {
  return json_answer(item_json(call, position));
}

HttpResponse any_item_answer(const Call& call) {
  const StoredIndex& index = *call.snapshot->index;
  if (index.size() == 0) {
    return error_response(404, "the index is empty", "add pictures to it");
  }
  thread_local std::mt19937_64 random{std::random_device()()};
  std::uniform_int_distribution<int64_t> ranks(0, index.size() - 1);
  return item_answer(call, index.info().removed.nth_outside(ranks(random)));
}

HttpResponse find_item_answer(const Call& call) {
  const int64_t position = call.index->find(*call.snapshot->index, call.id);
  if (position >= 0) return item_answer(call, position);
  return error_response(404, "there is no item " + quote(call.id),
                        "it may have been removed");
}

HttpResponse classes_answer(const Call& call) {
  Json list = Json::array();
  for (const auto& [label, count] : call.snapshot->classes) {
    list.push_back({{"label", label}, {"count", count}});
  }
  return json_answer({{"classes", list}});
}

HttpResponse hits_answer(const Call& call, const std::vector<SearchHit>& hits,
                         double seconds) {
  const auto threshold = call.index->threshold(*call.snapshot->index);
  bool is_accepted = false;
  Json results = Json::array();
  for (const SearchHit& hit : hits) {
    results.push_back(item_json(call, hit.position));
    results.back()["similarity"] = hit.similarity;
    if (!threshold) continue;
    results.back()["accepted"] = threshold->accepts(hit.similarity);
    is_accepted |= threshold->accepts(hit.similarity);
  }
  Json answer = {{"results", results}, {"milliseconds", seconds * 1000}};
  if (threshold) {
    answer["accepted"] = is_accepted;
    answer["threshold"] = threshold->value;
  }
  return json_answer(answer);
}

HttpResponse change_answer(const Call& call, const ChangeOutcome& outcome) {
  if (outcome.fault) return *outcome.fault;
  const RouteKind kind = call.match.route->kind;
  if (kind == RouteKind::kRemoveItem) {
    return json_answer({{"removed", outcome.removed}});
  }
  Json items = Json::array();
  for (const AddedItem& item : outcome.added) {
    items.push_back(item_json(call, item));
  }
  HttpResponse response = kind == RouteKind::kPutItem
                              ? json_answer(items.at(0))
                              : json_answer({{"items", items}});
  response.status = outcome.removed > 0 ? 200 : 201;
  return response;
}

HttpResponse problem_answer(const std::exception_ptr& error) {
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

std::optional<PageFile> find_page_file(std::string_view name) {
  for (const auto& [known, contents] : kServeAssets) {
    if (known == name) return PageFile{content_type_of(name), contents};
  }
  return {};
}

}  // namespace kith
