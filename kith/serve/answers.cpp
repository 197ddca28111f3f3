#include "kith/serve/answers.h"

#include <random>
#include <string>

#include <nlohmann/json.hpp>

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

std::string image_of(int64_t position) {
  return "/api/items/" + std::to_string(position) + "/image";
}

}  // namespace

HttpResponse json_answer(const Json& json) {
  HttpResponse response;
  response.body =
      json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return response;
}

HttpResponse item_answer(const StoredIndex& index, int64_t position) {
  const IndexItem item = index.item(position);
  return json_answer({{"position", position},
                      {"label", item.label},
                      {"path", item.path},
                      {"image", image_of(position)}});
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
    const IndexItem item = index.item(hit.position);
    results.push_back({{"position", hit.position},
                       {"similarity", hit.similarity},
                       {"label", item.label},
                       {"path", item.path},
                       {"image", image_of(hit.position)}});
  }
  return json_answer({{"results", results}, {"milliseconds", seconds * 1000}});
}

}  // namespace kith
