// Configurations that build on other files.
#include <ctime>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "kith/core/config.h"
#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

TEST(LoadConfigBase, LaysAFileOverAnother) {
  const TempDir dir;
  dir.write("base.yaml",
            "loss: {name: a, t: 1}\nk: [1, 2]\nminer: {name: m}\n");
  const std::string path = dir.write(
      "r.yaml", "base: base.yaml\nloss: {t: 2}\nk: [3]\nminer: null\nnew: 1\n");
  const ConfigNode root = load_config(path);
  EXPECT_EQ(to_yaml(root),
            "loss:\n  name: a\n  t: 2\nk: [3]\nminer: ~\nnew: 1\n");
  EXPECT_EQ(root.find("loss")->find("name")->where,
            dir.file("base.yaml") + ":1");
  EXPECT_EQ(root.find("loss")->find("t")->where, path + ":2");
}

TEST(LoadConfigBase, PathsAreRelativeToTheFileThatSaysThem) {
  const TempDir dir;
  std::filesystem::create_directories(dir.file("a/common"));
  dir.write("a/common/root.yaml", "x: 1\ny: 1\nz: 1\n");
  dir.write("a/middle.yaml", "base: common/root.yaml\ny: 2\nz: 2\n");
  dir.write("a/common/top.yaml", "base: ../middle.yaml\nz: 3\n");
  EXPECT_EQ(to_yaml(load_config(dir.file("a/common/top.yaml"))),
            "x: 1\ny: 2\nz: 3\n");
  const std::string absolute =
      dir.write("b.yaml", "base: " + dir.file("a/middle.yaml"));
  EXPECT_EQ(to_yaml(load_config(absolute)), "x: 1\ny: 2\nz: 2\n");
}

// The options of one loss mean nothing to another.
TEST(LoadConfigBase, APartOfAnotherNameReplacesTheWholePart) {
  const TempDir dir;
  dir.write("base.yaml",
            "loss: {name: a, t: 1}\nmodel: {dim: 8, backbone: {name: r, "
            "depth: 50}}\n");
  const auto laid_over = [&](const std::string& yaml) {
    return to_yaml(
        load_config(dir.write("r.yaml", "base: base.yaml\n" + yaml)));
  };
  const std::string model =
      "model:\n  dim: 8\n  backbone:\n    name: r\n    depth: 50\n";
  EXPECT_EQ(laid_over("loss: {name: b}"), "loss:\n  name: b\n" + model);
  EXPECT_EQ(laid_over("loss: {name: a, u: 2}"),
            "loss:\n  name: a\n  t: 1\n  u: 2\n" + model);
  EXPECT_EQ(laid_over("model: {backbone: {name: v}}"),
            "loss:\n  name: a\n  t: 1\nmodel:\n  dim: 8\n  backbone:\n"
            "    name: v\n");
}

TEST(LoadConfigBase, NamesTheChainOfACircle) {
  const TempDir dir;
  const std::string a = dir.write("a.yaml", "x: 1\nbase: b.yaml\n");
  const std::string b = dir.write("b.yaml", "base: ./a.yaml\n");
  expect_error<ConfigError>([&] { load_config(a); }, b + ":1", "circle",
                            a + " -> " + b + " -> " + a);
  const std::string self = dir.write("s.yaml", "base: s.yaml\n");
  expect_error<ConfigError>([&] { load_config(self); }, self + ":1", "circle");
  std::filesystem::create_symlink(a, dir.file("link.yaml"));
  dir.write("b.yaml", "base: link.yaml\n");
  expect_error<ConfigError>([&] { load_config(a); }, b + ":1", "circle");
}

TEST(LoadConfigBase, HasALimitOfDepth) {
  const TempDir dir;
  const auto name = [](int i) { return std::to_string(i) + ".yaml"; };
  dir.write(name(0), "x: 0\n");
  for (int i = 1; i <= 16; ++i) {
    dir.write(name(i), "base: " + name(i - 1) + "\ny: " + std::to_string(i));
  }
  EXPECT_EQ(to_yaml(load_config(dir.file(name(15)))), "x: 0\ny: 15\n");
  expect_error<ConfigError>([&] { load_config(dir.file(name(16))); },
                            dir.file(name(1)) + ":1", "more than 16 files");
}

TEST(LoadConfigBase, ErrorsNameTheFile) {
  const TempDir dir;
  const auto load = [&](const std::string& yaml) {
    load_config(dir.write("r.yaml", yaml));
  };
  const std::string file = dir.file("r.yaml");
  expect_error<DataError>([&] { load("x: 1\nbase: none.yaml\n"); }, file + ":2",
                          "'base'", dir.file("none.yaml"), "No such file");
  expect_error<DataError>([&] { load("base: .\n"); }, file + ":1", "'base'");
  for (const char* wrong : {"", "''", "[b.yaml]", "{path: b.yaml}"}) {
    expect_error<ConfigError>([&] { load("base: " + std::string(wrong)); },
                              file + ":1", "'base' must be the path");
  }
  dir.write("bad.yaml", "x: 1\nx: 2\n");
  expect_error<ConfigError>([&] { load("base: bad.yaml\n"); },
                            dir.file("bad.yaml") + ":2", "given twice");
  dir.write("list.yaml", "[1, 2]");
  expect_error<ConfigError>([&] { load("base: list.yaml\n"); },
                            dir.file("list.yaml"), "map of sections");
}

TEST(LoadConfigBase, IsQuickOnManyKeys) {
  const TempDir dir;
  std::string yaml;
  for (int i = 0; i < 45'000; ++i) yaml += "k" + std::to_string(i) + ": 1\n";
  dir.write("base.yaml", yaml);
  const std::string path = dir.write("r.yaml", "base: base.yaml\n" + yaml);
  const std::clock_t start = std::clock();
  EXPECT_EQ(load_config(path).entries.size(), 45'000u);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 4.0);
}

TEST(ParseConfig, DoesNotFollowBase) {
  EXPECT_EQ(to_yaml(parse_config("base: b.yaml\nx: 1\n", "text")),
            "base: b.yaml\nx: 1\n");
}

}  // namespace
}  // namespace kith
