#include "kith/serve/answers.h"

#include <random>
#include <string>

#include <nlohmann/json.hpp>

#include "kith/core/json_text.h"
#include "kith/serve/assets.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

Json item_json(const StoredIndex& index, int64_t position) {
  const IndexItem item = index.item(position);
  Json json = {{"position", position}, {"label", item.label}};
  set_path(json, "path", item.path);
  json["image"] = "/api/items/" + std::to_string(position) + "/image";
  return json;
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

HttpResponse item_answer(const StoredIndex& index, int64_t position) {
  return json_answer(item_json(index, position));
}

HttpResponse any_item_answer(const StoredIndex& index) {
  if (index.size() == 0) {
    return error_response(404, "the index is empty",
                          "add pictures to it with kith index, and start the "
                          "server again");
  }
  thread_local std::mt19937_64 random{std::random_device()()};
  std::uniform_int_distribution<int64_t> ranks(0, index.size() - 1);
  return item_answer(index, index.info().removed.nth_outside(ranks(random)));
}

HttpResponse hits_answer(const StoredIndex& index,
                         const std::vector<SearchHit>& hits, double seconds) {
  Json results = Json::array();
  for (const SearchHit& hit : hits) {
    results.push_back(item_json(index, hit.position));
    results.back()["similarity"] = hit.similarity;
  }
  return json_answer({{"results", results}, {"milliseconds", seconds * 1000}});
}

std::optional<PageFile> find_page_file(std::string_view name) {
  for (const auto& [known, contents] : kServeAssets) {
    if (known == name) return PageFile{content_type_of(name), contents};
  }
  return {};
}

}  // namespace kith
