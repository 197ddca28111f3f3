#include "kith/serve/target.h"

#include <gtest/gtest.h>

#include "kith/serve/route_table.h"

namespace kith {
namespace {

using Path = std::vector<std::string>;

TEST(ParseTarget, SplitsAndDecodes) {
  const auto target = parse_target("/api/items/17/similar?k=5&label=a+b%26%3D");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, (Path{"api", "items", "17", "similar"}));
  EXPECT_EQ(target->query.at("k"), "5");
  EXPECT_EQ(target->query.at("label"), "a b&=");
  EXPECT_TRUE(parse_target("/")->path.empty());
  EXPECT_EQ(parse_target("/?")->query.size(), 0U);
  EXPECT_EQ(parse_target("/a%20b+c")->path, (Path{"a b+c"}));
  EXPECT_EQ(parse_target("/a/")->path, (Path{"a", ""}));
  EXPECT_EQ(parse_target("//a")->path, (Path{"", "a"}));
  EXPECT_EQ(parse_target("/?k&&x=")->query.at("k"), "");
}

TEST(ParseTarget, RefusesWhatIsMalformedOrLeavesTheTree) {
  for (const char* text : {"",
                           "api",
                           "http://elsewhere/",
                           "*",
                           "/..",
                           "/../etc/passwd",
                           "/api/items/../../etc/passwd",
                           "/%2e%2e/x",
                           "/a%2fb",
                           "/a%5cb",
                           "/a\\b",
                           "/%",
                           "/%4",
                           "/%zz",
                           "/%-1",
                           "/%+1",
                           "/a%00b",
                           "/a%0db",
                           "/./a",
                           "/?k=1&k=2",
                           "/?k=%0a"}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
}

TEST(MatchRoute, KnowsItsRoutesAndNoOthers) {
  const auto name = [](const char* text) -> std::string {
    const auto match = match_route(parse_target(text)->path, "GET");
    return match ? match->route->name : "none";
  };
  EXPECT_EQ(name("/"), "page");
  EXPECT_EQ(name("/assets/serve.js"), "asset");
  EXPECT_EQ(name("/health"), "health");
  EXPECT_EQ(name("/metrics"), "metrics");
  EXPECT_EQ(name("/api/info"), "info");
  EXPECT_EQ(name("/api/classes"), "classes");
  EXPECT_EQ(name("/api/search"), "search");
  EXPECT_EQ(name("/api/items/0"), "item");
  EXPECT_EQ(name("/api/items/any"), "any_item");
  EXPECT_EQ(name("/api/items/3/similar"), "similar");
  EXPECT_EQ(name("/api/items/3/image"), "image");
  for (const char* text :
       {"/api", "/api/", "/assets", "/assets/a/b", "/api/items/",
        "/api/items/-1", "/api/items/+1", "/api/items/1x", "/api/items/x/image",
        "/api/items/99999999999999999999", "/api/items/1/file",
        "/api/items/1/image/x", "/health/", "/api/items/any/image"}) {
    EXPECT_EQ(name(text), "none") << text;
  }
  EXPECT_EQ(match_route({"api", "items", "17", "image"}, "GET")->position, 17);
}

TEST(MatchRoute, TellsMethodsOfAnAddressApart) {
  const Path items = {"api", "items"};
  EXPECT_STREQ(match_route(items, "GET")->route->name, "find_item");
  EXPECT_STREQ(match_route(items, "POST")->route->name, "add_items");
  EXPECT_STREQ(match_route(items, "PUT")->route->name, "put_item");
  EXPECT_STREQ(match_route(items, "DELETE")->route->name, "remove_item");
  const auto other = match_route(items, "PATCH");
  EXPECT_FALSE(other->has_method);
  EXPECT_EQ(other->allowed, "GET, HEAD, POST, PUT, DELETE");
}

TEST(MatchRoute, KnowsTheAddressesOfEachIndex) {
  const auto match =
      match_route({"api", "indexes", "cars", "items", "3", "image"}, "GET");
  EXPECT_STREQ(match->route->name, "image");
  EXPECT_EQ(match->index, "cars");
  EXPECT_EQ(match->position, 3);
  EXPECT_STREQ(match_route({"api", "indexes"}, "GET")->route->name, "indexes");
  for (const Path& path :
       {Path{"api", "indexes", "cars"}, Path{"api", "indexes", "", "info"},
        Path{"api", "indexes", "cars", "indexes"},
        Path{"indexes", "cars", "info"}}) {
    EXPECT_FALSE(match_route(path, "GET")) << path.back();
  }
}

}  // namespace
}  // namespace kith
