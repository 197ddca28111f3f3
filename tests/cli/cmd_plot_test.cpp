// `kith plot`: toy on the recipes of recipes/toy, class-means, rsk.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/file.h"
#include "tests/cli/run_program.h"
#include "tests/cli/tiny_run.h"
#include "tests/support/markup.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

const std::string kToy = source_dir() + "/recipes/toy/";

std::string read_svg(const std::string& path) {
  std::string svg = read_file(path, uint64_t{1} << 24);
  EXPECT_EQ(markup_fault(svg), "") << path;
  return svg;
}

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
  const std::string svg = read_svg(out);
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
  expect_failure(1,
                 {"plot", "class-means", folder.file("glyphs"), "--out",
                  folder.file("means"), "--device", "cpu"},
                 {"no learned class means", "'hist'"});
}

TEST(PlotCommand, DrawsLearnedClassMeans) {
  const TempDir folder;
  const std::string config = folder.file("tiny.yaml");
  write_file_atomically(config, kTinyConfig);
  expect_success(train_arguments(config, folder.file("run"),
                                 {"--set", "loss={name: hist, hidden: 8}"}));
  const ProgramResult result = expect_success(
      {"plot", "class-means", folder.file("run"), "--out", folder.file("means"),
       "--classes", "4", "--device", "cpu", "--threads", "1"});
  EXPECT_THAT(result.out, HasSubstr("of 6 classes"));
  const std::string means = read_svg(folder.file("means/class_means.svg"));
  EXPECT_THAT(means, HasSubstr("the first 4 of 6 training classes"));
  const std::string variances =
      read_svg(folder.file("means/class_variances.svg"));
  EXPECT_EQ(count_of(variances, "<circle "), 6);
}

TEST(PlotCommand, DrawsHowRecallIsApproximated) {
  const TempDir folder;
  expect_success({"plot", "rsk", "--out", folder.file("rsk")});
  const std::string examples = read_svg(folder.file("rsk/rsk_examples.svg"));
  // Positives at ranks 1, 4 and 6: (sigma(3) + sigma(0) + sigma(-2)) / 3.
  EXPECT_THAT(examples, HasSubstr(">0.524<"));
  EXPECT_EQ(count_of(examples, ">0.667<"), 3);
  const std::string ranks = read_svg(folder.file("rsk/rsk_sigmoid_rank.svg"));
  EXPECT_EQ(count_of(ranks, "<circle "), 9 + 1);
  EXPECT_THAT(ranks, HasSubstr("rank r 4, counted as 0.5<"));
  read_svg(folder.file("rsk/rsk_sigmoid_similarity.svg"));
  const std::string slopes = read_svg(folder.file("rsk/rsk_gradient.svg"));
  EXPECT_EQ(count_of(slopes, "class=\"l s"), 6 + 6);  // and in the legend
}

}  // namespace
}  // namespace kith
