#include "kith/core/config_json.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kith {
namespace {

TEST(ConfigJson, HasNumbersAndTruthValuesAsSuch) {
  const ConfigNode node = parse_config(
      "{a: 1, b: 1e-05, c: true, d: text, e: '1', f: [0.5, x], g: {h: null}}",
      "test");
  EXPECT_EQ(config_json(node).dump(),
            R"({"a":1,"b":1e-05,"c":true,"d":"text","e":"1",)"
            R"("f":[0.5,"x"],"g":{"h":null}})");
}

TEST(ConfigJson, IsReadBack) {
  const ConfigNode node = parse_config(
      "{a: 1, b: 1e-05, c: true, d: text, e: '1', f: [0.5, x], g: {h: null}}",
      "test");
  const ConfigNode again = config_of(config_json(node), "file.json");
  EXPECT_EQ(config_json(again), config_json(node));
  EXPECT_EQ(again.find("f")->items[0].where, "file.json");
  EXPECT_TRUE(again.find("e")->quoted);
  EXPECT_FALSE(again.find("a")->quoted);
}

}  // namespace
}  // namespace kith
