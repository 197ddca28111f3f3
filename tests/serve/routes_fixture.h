#pragma once

#include <future>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/serve/routes.h"
#include "tests/serve/small_index.h"

namespace kith {

using Json = nlohmann::json;

inline RouteOptions with_token(const std::string& token) {
  RouteOptions options;
  options.token = token;
  return options;
}

inline ServiceOptions small_limits() {
  ServiceOptions options;
  options.wait_ms = 0;
  options.most_neighbours = 8;
  options.limits.max_pixels = 10'000;
  return options;
}

inline std::string png(int64_t seed, int width = 48, int height = 32) {
  const std::vector<uint8_t> bytes =
      encode_png(draw_scene(seed, width, height));
  return {bytes.begin(), bytes.end()};
}

/// An index in memory that never changes, as it is served.
inline ServedIndexes served(SearchService& service, StoredIndex index,
                            const std::string& name = "index") {
  ServedIndexes indexes;
  indexes.push_back(std::make_unique<ServedIndex>(
      ServedIndexOptions{.name = name, .path = "", .model = "run"},
      std::move(index), FileMark{}, service));
  return indexes;
}

class RoutesTest : public ::testing::Test {
 protected:
  RoutesTest()
      : service_(SmallIndex::net(), small_limits()),
        indexes_(served(service_, small_.index())),
        routes_(indexes_, metrics_, {}) {}

  static HttpResponse ask_of(Routes& routes, HttpRequest request) {
    request.body_bytes = request.body.size();
    if (auto refusal = routes.refuse(request)) return *refusal;
    std::promise<HttpResponse> promise;
    routes.answer(std::move(request), [&promise](HttpResponse response) {
      promise.set_value(std::move(response));
    });
    return promise.get_future().get();
  }

  static HttpResponse get_of(Routes& routes, const std::string& target) {
    HttpRequest request;
    request.method = "GET";
    request.target = target;
    return ask_of(routes, request);
  }

  HttpResponse get(const std::string& target) {
    return get_of(routes_, target);
  }

  /// Of a browser that says which site the request comes from.
  HttpResponse get_from(const std::string& site, const std::string& target) {
    HttpRequest request;
    request.method = "GET";
    request.target = target;
    request.fetch_site = site;
    return ask_of(routes_, request);
  }

  HttpResponse post(const std::string& target, const std::string& body,
                    const std::string& type = "image/png") {
    HttpRequest request;
    request.method = "POST";
    request.target = target;
    request.content_type = type;
    request.body = body;
    return ask_of(routes_, request);
  }

  /// A status with a kind message.
  static void expect_refused(const HttpResponse& response, int status,
                             const std::string& part = "") {
    EXPECT_EQ(response.status, status) << response.body;
    const Json json = Json::parse(response.body);
    EXPECT_THAT(json.at("error").get<std::string>(),
                ::testing::HasSubstr(part));
    EXPECT_FALSE(json.at("remedy").get<std::string>().empty());
  }

  SmallIndex small_;
  SearchService service_;
  ServedIndexes indexes_;
  ServeMetrics metrics_;
  Routes routes_;
};

}  // namespace kith
