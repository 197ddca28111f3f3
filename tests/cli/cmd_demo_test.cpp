// `kith demo` as a newcomer runs it: the whole training.

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
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

/// A library that is loaded anyway, and so does no harm as a plug-in.
std::string harmless_plugin() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with("/libkith_base.so")) return line.substr(line.find('/'));
  }
  ADD_FAILURE() << "libkith_base.so is not loaded";
  return "";
}

/// The commands that the demo prints, as a user pastes them: an index is made,
/// and a server starts, says so, and ends well; without one a picture is
/// searched for.
void expect_commands_work(const Json& commands, const TempDir& folder) {
  ASSERT_EQ(commands.size(), 2u);
  const auto shell = [](const std::string& text) {
    return run_program({"/bin/sh", "-c", text});
  };
  const ProgramResult index = shell(commands[0]);
  EXPECT_EQ(index.exit_code, 0) << index.err;
  const std::string version = expect_success({"--version"}).out;
  if (version.find("no kith serve") != std::string::npos) {
    const ProgramResult search = shell(commands[1]);
    EXPECT_EQ(search.exit_code, 0) << search.err;
    EXPECT_TRUE(std::filesystem::exists(folder.file("demo/found.html")));
    return;
  }
  const std::string said = folder.file("said.txt");
  const ProgramResult serve =
      shell(commands[1].get<std::string>() + " --port 0 > " + said +
            " & server=$!\n"
            "for i in $(seq 300); do\n"
            "  grep -q Searching " +
            said +
            " && break\n"
            "  sleep 0.2\n"
            "done\n"
            "kill $server && wait $server");
  EXPECT_EQ(serve.exit_code, 0) << serve.err;
  EXPECT_EQ(read_file(said, 1 << 16).rfind("Searching 4000 pictures at ", 0),
            0u);
}

TEST(DemoCommand, ReachesItsNumbersAndShowsThem) {
  const TempDir folder;
  const std::string out = folder.file("demo");
  ProgramOptions options;
  options.timeout = std::chrono::minutes(15);
  const std::string plugin = harmless_plugin();
  const ProgramResult result = expect_success(
      {"--plugin", plugin, "demo", "--out", out, "--json"}, options);
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
  // Two lists of twelve examples, and eight neighbours of each.
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
  for (const std::string command : json.at("next")) {
    EXPECT_NE(command.find(" --plugin " + plugin), std::string::npos);
  }
  EXPECT_EQ(count_of(page, "kith --plugin " + plugin + " demo"), 1);
  expect_commands_work(json.at("next"), folder);
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
