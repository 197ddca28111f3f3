// `kith data show`: contact sheets.

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

TEST(DataShowCommand, WritesASheetOfAConfigurationOrOfData) {
  const TempDir folder;
  const std::string config = folder.file("c.yaml");
  folder.write("c.yaml",
               "data: {name: glyphs, classes: 6, per_class: 3}\n"
               "augment: [{name: affine}]\n");
  const std::string page = folder.file("sheet.html");
  EXPECT_THAT(expect_success({"data", "show", config, "--augment", "--out",
                              page, "--images", "2", "--views", "3"})
                  .out,
              HasSubstr("2 rows -> " + page));
  EXPECT_TRUE(std::filesystem::exists(page));
  const std::string picture = folder.file("sheet.png");
  const auto json = nlohmann::json::parse(
      expect_success({"data", "show", config, "--augment", "--set",
                      "augment=[{name: rand_augment}]", "--out", picture,
                      "--json"})
          .out);
  EXPECT_EQ(json.at("sheet"), picture);
  EXPECT_EQ(json.at("rows").size(), 6u);
  expect_failure(
      2, {"data", "show", config, "--set", "augment=[]", "--out", picture},
      {"--set", "--augment"});
  expect_failure(2, {"data", "show", config, "--out", folder.file("s.jpg")},
                 {"s.jpg", ".html", ".png"});
}

}  // namespace
}  // namespace kith
