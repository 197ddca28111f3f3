// `kith plot toy` on the recipes of recipes/toy.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/file.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/paths.h"
#include "tests/support/markup.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

const std::string kToy = std::string(KITH_SOURCE_DIR) + "/recipes/toy/";

TEST(PlotCommand, DrawsARowARun) {
  const TempDir folder;
  std::vector<std::string> arguments = {"plot", "toy"};
  for (const std::string run : {"vertical", "vertical_rho"}) {
    expect_success(train_arguments(kToy + run + ".yaml", folder.file(run),
                                   {"--set", "train.epochs=3"}));
    arguments.push_back(folder.file(run));
  }
  const std::string out = folder.file("toy.svg");
  arguments.insert(arguments.end(),
                   {"--out", out, "--device", "cpu", "--threads", "1"});
  const ProgramResult result = expect_success(arguments);
  EXPECT_THAT(result.out, HasSubstr("vertical_rho: second singular value"));
  const std::string svg = read_file(out, uint64_t{1} << 24);
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_THAT(svg, HasSubstr(">vertical<"));
  EXPECT_THAT(svg, HasSubstr(">vertical_rho<"));
  // 60 test points a row in two panels, and four in the legend.
  EXPECT_EQ(count_of(svg, "<path "), 2 * 120 + 4);
}

TEST(PlotCommand, RefusesRunsItCannotDraw) {
  const TempDir folder;
  const std::string config = folder.file("tiny.yaml");
  write_file_atomically(config, kTinyConfig);
  expect_success(train_arguments(config, folder.file("glyphs")));
  expect_failure(2,
                 {"plot", "toy", folder.file("glyphs"), "--out",
                  folder.file("a.svg"), "--device", "cpu"},
                 {"'points'", "'glyphs'"});
  expect_success(train_arguments(
      kToy + "diagonal.yaml", folder.file("three"),
      {"--set", "train.epochs=1", "--set", "model.head.dim=3"}));
  expect_failure(2,
                 {"plot", "toy", folder.file("three"), "--out",
                  folder.file("a.svg"), "--device", "cpu"},
                 {"model.head.dim", "3 dimensions"});
  expect_failure(2, {"plot", "toy", "--out", folder.file("a.svg")}, {"runs"});
}

}  // namespace
}  // namespace kith
