// The recipes, and the one for real handwriting where its data is at hand.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using Json = nlohmann::json;

const std::string kRecipes = source_dir() + "/recipes";

TEST(Recipes, AreValidConfigurations) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kRecipes)) {
    if (entry.path().extension() != ".yaml") continue;
    EXPECT_NE(
        expect_success({"train", entry.path().string(), "--print-config"}).out,
        "");
    ++count;
  }
  EXPECT_GE(count, 2);
}

TEST(Omniglot, IsReadAndTrainedOn) {
  const char* folder = std::getenv("KITH_OMNIGLOT_DIR");
  if (folder == nullptr || *folder == '\0') {
    GTEST_SKIP() << "skipped: set KITH_OMNIGLOT_DIR";
  }
  const Json checked =
      Json::parse(expect_success({"data", "check", folder, "--json"}).out);
  EXPECT_EQ(checked.at("splits").at("train").at("classes"), 136);
  EXPECT_EQ(checked.at("splits").at("test").at("classes"), 156);
  EXPECT_EQ(checked.at("shared_classes"), 0);

  const TempDir out;
  ProgramOptions options;
  options.timeout = std::chrono::minutes(15);
  const ProgramResult trained = expect_success(
      {"train", kRecipes + "/omniglot_small.yaml", "--out", out.file("run"),
       "--set", std::string("data.path=") + folder, "--set", "train.epochs=1",
       "--json"},
      options);
  const Json result = Json::parse(trained.out);
  EXPECT_EQ(result.at("queries"), checked.at("splits").at("test").at("images"));
  EXPECT_GT(result.at("recall_any@1"), 0.1);
}

}  // namespace
}  // namespace kith
