// `kith demo` as a newcomer runs it: the whole training.

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/file.h"
#include "tests/cli/run_program.h"
#include "tests/support/markup.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using Json = nlohmann::json;

TEST(DemoCommand, ReachesItsNumbersAndShowsThem) {
  const TempDir folder;
  const std::string out = folder.file("demo");
  ProgramOptions options;
  options.timeout = std::chrono::minutes(15);
  const ProgramResult result =
      expect_success({"demo", "--out", out, "--json"}, options);
  const Json json = Json::parse(result.out);
  for (const char* when : {"untrained", "trained"}) {
    EXPECT_EQ(json.at(when).at("protocol").at("queries"), 4000) << when;
  }
  const double before = json.at("untrained").at("recall_any@1");
  const double after = json.at("trained").at("recall_any@1");
  EXPECT_GE(after, 0.90);
  EXPECT_GE(after, before + 0.25);
  EXPECT_TRUE(std::filesystem::exists(out + "/run/metrics.json"));
  EXPECT_TRUE(std::filesystem::exists(out + "/data/dataset.csv"));

  const std::string page =
      read_file(json.at("report").get<std::string>(), uint64_t{1} << 26);
  EXPECT_EQ(markup_fault(page), "");
  // Two galleries of twelve queries, and eight neighbours of each.
  EXPECT_EQ(count_of(page, "<div class=\"query\">"), 24);
  EXPECT_EQ(count_of(page, "<li class=\"right\">") +
                count_of(page, "<li class=\"wrong\">"),
            24 * 8);
  EXPECT_EQ(count_of(page, "<h1>kith demo</h1>"), 1);
  char lead[100];
  std::snprintf(lead, sizeof(lead),
                "first for %.1f%% of 4000 queries (before training: %.1f%%)",
                100 * after, 100 * before);
  EXPECT_EQ(count_of(page, lead), 1);
  // Nothing is loaded from elsewhere; a name space is no resource.
  EXPECT_EQ(count_of(page, "http://") + count_of(page, "https://"),
            count_of(page, "http://www.w3.org/2000/svg"));
  EXPECT_EQ(count_of(page, "src=\""), count_of(page, "src=\"data:image/"));

  // The curve: before training, every third epoch, the last one.
  const Json metrics =
      Json::parse(read_file(out + "/run/metrics.json", uint64_t{1} << 20));
  EXPECT_EQ(metrics.at("history").size(), 6u);
}

TEST(DemoCommand, RefusesAWrongOverride) {
  const TempDir folder;
  expect_failure(
      2, {"demo", "--out", folder.file("demo"), "--set", "train.epoch=1"},
      {"--set train.epoch=1", "did you mean 'epochs'?"});
  EXPECT_FALSE(std::filesystem::exists(folder.file("demo")));
}

}  // namespace
}  // namespace kith
