#include "kith/core/json_text.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

TEST(JsonText, IsThatOfTheLibrary) {
  const Json json = {{"b", {1, 2.5, nullptr}}, {"a", "Zaunk\xc3\xb6nig \\ \n"}};
  EXPECT_EQ(json_text(json), json.dump(2));
  EXPECT_EQ(json_text(json, -1), json.dump());
}

TEST(JsonText, IsJsonWhateverTheNames) {
  const std::string name = "caf\xe9 \xc3\xb6.png";
  const Json json = {{"list", {name, "x"}}, {name, 1}};
  for (const int indent : {-1, 2}) {
    const Json read = Json::parse(json_text(json, indent));
    EXPECT_EQ(read.at("list").at(0), "caf\\xe9 \xc3\xb6.png");
    EXPECT_EQ(read.at("list").at(1), "x");
    EXPECT_EQ(read.at("caf\\xe9 \xc3\xb6.png"), 1);
  }
}

TEST(JsonText, HasNothingThatATerminalObeys) {
  const std::string name = "\x1b[2J\xc2\x9b\x7f\xe2\x80\xae \xf0\x9f\x90\xa6";
  const std::string text = json_text({{"name", name}});
  EXPECT_EQ(text,
            "{\n  \"name\": \"\\u001b[2J\\u009b\\u007f\\u202e "
            "\xf0\x9f\x90\xa6\"\n}");
  EXPECT_EQ(Json::parse(text).at("name"), name);
}

TEST(JsonPath, IsFoundAgain) {
  for (const std::string path :
       {"birds/wren.jpg", "caf\xe9/\xff\x01\\x.png", "\xc3\xb6", ""}) {
    Json json = Json::object();
    set_path(json, "path", path);
    const Json read = Json::parse(json_text(json));
    EXPECT_EQ(get_path(read, "path"), path);
  }
  Json json = Json::object();
  set_path(json, "path", "a.png");
  EXPECT_EQ(json.dump(), "{\"path\":\"a.png\"}");
  set_path(json, "path", "\xe9");
  EXPECT_EQ(json_text(json, -1),
            "{\"path\":\"\\\\xe9\",\"path_bytes\":\"e9\"}");
}

}  // namespace
}  // namespace kith
