#include "kith/core/json.h"

#include <random>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/damage.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kText =
    R"({"z": [1, -2, 3.5, 1e300, true, null, "a\u00e9\n"], "a": {}, "m": [],)"
    R"( "deep": {"y": {"x": [[[{"k": 18446744073709551615}]]]}}})";

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

// Trees, their order and what is refused are those of the library.
TEST(ParseJson, GivesTheTreeOfTheLibrary) {
  EXPECT_EQ(parse_json(kText).dump(), Json::parse(kText).dump());
  for (const char* text : {"0", "\"x\"", "[]", "{}", "null", " [1 ] "}) {
    EXPECT_EQ(parse_json(text), Json::parse(text));
  }
  std::mt19937_64 random(1);
  int read = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = damage(kText, random);
    const Json expected = Json::parse(text, nullptr, false);
    try {
      EXPECT_EQ(parse_json(text).dump(), expected.dump());
      ++read;
    } catch (const Json::exception& error) {
      const bool twice =
          std::string(error.what()).find("appears twice") != std::string::npos;
      EXPECT_TRUE(expected.is_discarded() || twice) << text;
    }
  }
  EXPECT_GT(read, 100);
}

TEST(ParseJson, RefusesWhatIsNotJsonTooDeepOrTwice) {
  expect_error<Json::parse_error>([] { parse_json(""); }, "not JSON");
  expect_error<Json::parse_error>([] { parse_json("[1, 2"); }, "byte 6");
  expect_error<Json::parse_error>([] { parse_json("{} x"); }, "byte 4");
  EXPECT_EQ(parse_json(nested(64)).dump(), nested(64));
  expect_error<Json::exception>([] { parse_json(nested(65)); }, "too deep");
  expect_error<Json::exception>(
      [] { parse_json(R"([{"b": 1, "a": 2, "b": 3}])"); },
      "key 'b' appears twice");
}

}  // namespace
}  // namespace kith
