#include "kith/serve/routes.h"

#include <filesystem>
#include <utility>

#include <gmock/gmock.h>

#include "kith/serve/picture_store.h"
#include "tests/serve/routes_fixture.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(RoutesTest, SearchesForAPicture) {
  const HttpResponse response = post("/api/search?k=3", png(5));
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_STREQ(response.route, "search");
  EXPECT_EQ(response.cache, "no-store");
  const Json json = Json::parse(response.body);
  ASSERT_EQ(json.at("results").size(), 3U);
  const Json& first = json.at("results")[0];
  EXPECT_EQ(first.at("position"), 5);
  EXPECT_EQ(first.at("label"), "odd");
  EXPECT_EQ(first.at("path"), small_.paths()[5]);
  EXPECT_EQ(first.at("image"), "/api/items/5/image");
  EXPECT_NEAR(first.at("similarity").get<double>(), 1, 1e-5);
  EXPECT_GE(json.at("milliseconds").get<double>(), 0);
  const Json even =
      Json::parse(post("/api/search?label=even", png(5), "").body);
  ASSERT_EQ(even.at("results").size(), 6U);
  EXPECT_EQ(even.at("results")[0].at("label"), "even");
}

TEST_F(RoutesTest, SearchesWithAnItem) {
  const Json json = Json::parse(get("/api/items/5/similar?k=4").body);
  ASSERT_EQ(json.at("results").size(), 4U);
  for (const Json& result : json.at("results")) {
    EXPECT_NE(result.at("position"), 5);
  }
}

TEST_F(RoutesTest, TellsOfTheIndex) {
  const Json info = Json::parse(get("/api/info").body);
  EXPECT_EQ(info.at("model"), "run");
  EXPECT_EQ(info.at("items"), 12);
  EXPECT_EQ(info.at("dim"), 6);
  EXPECT_EQ(info.at("classes"), 2);
  EXPECT_EQ(info.at("token_required"), false);
  EXPECT_EQ(info.at("max_neighbours"), 8);
  EXPECT_EQ(info.at("max_pixels"), 10'000);
  EXPECT_EQ(info.at("rerank"), "");
  const Json classes = Json::parse(get("/api/classes").body).at("classes");
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0], Json({{"label", "even"}, {"count", 6}}));
  EXPECT_EQ(Json::parse(get("/api/items/3").body).at("label"), "odd");
  EXPECT_EQ(Json::parse(get("/health").body),
            Json({{"status", "ok"}, {"token_required", false}}));
  EXPECT_EQ(Json::parse(get("/ready").body), Json({{"status", "ready"}}));
  EXPECT_THAT(get("/metrics").body,
              HasSubstr("kith_index_items{index=\"index\"} 12\n"));
}

TEST_F(RoutesTest, ShowsThePage) {
  const HttpResponse page = get("/");
  EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(page.body, StartsWith("<!"));
  EXPECT_THAT(get("/assets/serve.js").content_type,
              StartsWith("text/javascript"));
  EXPECT_THAT(get("/assets/serve.css").content_type, StartsWith("text/css"));
  expect_refused(get("/assets/none.js"), 404);
}

TEST_F(RoutesTest, ShowsPicturesOfItemsAndKeepsThem) {
  const HttpResponse whole = get("/api/items/2/image");
  EXPECT_EQ(whole.content_type, "image/jpeg");
  const auto decode = [](const std::string& bytes) {
    return decode_image(
        {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, "x");
  };
  EXPECT_EQ(decode(whole.body).width, 48);
  EXPECT_EQ(decode(get("/api/items/2/image?size=24").body).width, 24);
  EXPECT_EQ(get("/api/items/2/image").body, whole.body);
  write_png(small_.paths()[2], draw_scene(7, 40, 32));
  EXPECT_EQ(decode(get("/api/items/2/image").body).width, 40);
  std::filesystem::remove(small_.paths()[2]);
  expect_refused(get("/api/items/2/image"), 404, "item 2");
  // The same address may be another picture when the server starts again.
  EXPECT_EQ(whole.cache, "no-store");
}

TEST_F(RoutesTest, RefusesPagesOfOtherSites) {
  for (const char* site : {"cross-site", "same-site", "x"}) {
    expect_refused(get_from(site, "/api/info"), 403, "other sites");
    expect_refused(get_from(site, "/%61pi/items/1/similar"), 403);
    EXPECT_EQ(get_from(site, "/health").status, 200);
    EXPECT_EQ(get_from(site, "/").status, 200);
  }
  for (const char* site : {"", "same-origin", "none"}) {
    EXPECT_EQ(get_from(site, "/api/info").status, 200) << site;
  }
}

TEST_F(RoutesTest, RefusesWithTheRightStatus) {
  expect_refused(get("/nothing"), 404);
  expect_refused(get("/api/items/12"), 404, "12");
  expect_refused(get("/api/items/../../etc/passwd"), 400);
  expect_refused(get("/api/items/%2e%2e%2fetc%2fpasswd/image"), 400);
  expect_refused(get("/assets/..%2f..%2fetc%2fpasswd"), 400);
  expect_refused(get("/api/search"), 405, "GET");
  expect_refused(post("/api/info", ""), 405);
  expect_refused(get("/api/items/1/similar?k=0"), 400, "from 1 to 8");
  expect_refused(get("/api/items/1/similar?k=9"), 400, "from 1 to 8");
  expect_refused(get("/api/items/1/similar?k=1e3"), 400);
  expect_refused(get("/api/items/1/similar?K=3"), 400, "'K'");
  expect_refused(get("/api/items/1/similar?label=red"), 400, "'red'");
  expect_refused(get("/api/items/1/similar?label=%ff"), 400);
  expect_refused(get("/api/items/1/image?size=1000000"), 400);
  expect_refused(post("/api/search", "text"), 415);
  expect_refused(post("/api/search", ""), 415);
  expect_refused(post("/api/search", png(1), "text/html"), 415, "text/html");
  const HttpResponse form =
      post("/api/search", png(1), "application/x-www-form-urlencoded");
  expect_refused(form, 415, "Content-Type 'application/x-www-form-urlencoded'");
  EXPECT_THAT(form.body, HasSubstr("Content-Type: image/jpeg"));
  EXPECT_EQ(post("/api/search", png(1), "Image/PNG").status, 200);
  expect_refused(post("/api/search", png(1).substr(0, 200)), 400);
  expect_refused(post("/api/search", png(1, 101, 100)), 413, "101 x 100");
  EXPECT_EQ(post("/api/search", png(1, 100, 100)).status, 200);
  using Field = std::pair<std::string, std::string>;
  EXPECT_EQ(get("/api/search").headers.at(0), Field("Allow", "POST"));
  EXPECT_EQ(post("/health", "").headers.at(0), Field("Allow", "GET, HEAD"));
}

TEST_F(RoutesTest, WantsATokenWhereThereIsOne) {
  Routes guarded(indexes_, metrics_, with_token("secret"));
  const auto status = [&guarded](const std::string& target,
                                 const std::string& authorization) {
    HttpRequest request;
    request.method = "GET";
    request.target = target;
    request.authorization = authorization;
    return ask_of(guarded, request).status;
  };
  for (const char* open : {"/", "/assets/serve.css", "/health", "/ready"}) {
    EXPECT_EQ(status(open, ""), 200) << open;
  }
  for (const char* closed :
       {"/api/info", "/api/classes", "/api/items/1", "/api/items/1/image",
        "/api/items/1/similar", "/api/items/any", "/metrics", "/api/items/99",
        "/api/search"}) {
    EXPECT_EQ(status(closed, ""), 401) << closed;
    EXPECT_EQ(status(closed, "Bearer wrong"), 401) << closed;
  }
  EXPECT_EQ(status("/api/info", "Bearer secret"), 200);
  const Json health = Json::parse(get_of(guarded, "/health").body);
  EXPECT_EQ(health.at("token_required"), true);
}

TEST_F(RoutesTest, ATokenCannotBeFoundByTrying) {
  Routes guarded(indexes_, metrics_, with_token("secret"));
  const auto ask_from = [&guarded](const std::string& client,
                                   const std::string& authorization,
                                   const std::string& target = "/api/info") {
    HttpRequest request;
    request.method = "GET";
    request.target = target;
    request.authorization = authorization;
    request.client = client;
    return ask_of(guarded, request);
  };
  // Who has no token does not try one.
  for (int i = 0; i < 100; ++i) {
    const HttpResponse refused = ask_from("192.0.2.1", "");
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(refused.delay_seconds, 0);
  }
  double delay = 0;
  for (int i = 0; i < 20; ++i) {
    const HttpResponse refused = ask_from("192.0.2.3", "Bearer wrong");
    EXPECT_EQ(refused.status, 401);
    EXPECT_GT(refused.delay_seconds, delay);
    delay = refused.delay_seconds;
  }
  EXPECT_GT(delay, 0.1);
  EXPECT_LT(delay, 0.3);
  EXPECT_EQ(ask_from("192.0.2.1", "Bearer secret").status, 200);
  int tried = 0;
  for (int i = 0; i < 1000; ++i) {
    tried += ask_from("192.0.2.1", "Bearer " + std::to_string(i)).status == 401;
  }
  EXPECT_LT(tried, 100);
  const HttpResponse refused = ask_from("192.0.2.1", "Bearer wrong");
  expect_refused(refused, 429, "too many wrong tokens");
  using Field = std::pair<std::string, std::string>;
  EXPECT_EQ(refused.headers.at(0), Field("Retry-After", "1"));
  // Not with the right one either, for that is what trying comes to.
  EXPECT_EQ(ask_from("192.0.2.1", "Bearer secret").status, 429);
  EXPECT_EQ(ask_from("192.0.2.1", "Bearer wrong", "/health").status, 200);
  EXPECT_EQ(ask_from("192.0.2.2", "Bearer secret").status, 200);
  // A web server on this machine stands for all its clients.
  for (int i = 0; i < 100; ++i) ask_from("", "Bearer wrong");
  EXPECT_EQ(ask_from("", "Bearer wrong").status, 429);
  EXPECT_EQ(ask_from("", "Bearer secret").status, 200);
}

TEST_F(RoutesTest, RefusesWhenItHasStopped) {
  routes_.stop();
  const HttpResponse response = post("/api/search", png(1));
  expect_refused(response, 503);
  EXPECT_EQ(response.headers.at(0).first, "Retry-After");
  EXPECT_EQ(get("/health").status, 200);
  expect_refused(get("/ready"), 503, "stops");
}

TEST(PictureStore, KeepsNoMoreThanItMay) {
  const SmallIndex small;
  PictureStore store(4000);
  const auto place = [&small](int64_t i) {
    return ItemPlace{i, small.paths()[static_cast<size_t>(i)]};
  };
  const std::string first = store.jpeg(place(0), 32);
  ASSERT_LT(first.size(), 4000U);
  for (int64_t i = 0; i < SmallIndex::kCount; ++i) {
    store.jpeg(place(i), 32);
    EXPECT_LE(store.cached_bytes(), 4000);
    EXPECT_GT(store.cached_bytes(), 0);
  }
  EXPECT_EQ(store.jpeg(place(0), 32), first);
}

}  // namespace
}  // namespace kith
