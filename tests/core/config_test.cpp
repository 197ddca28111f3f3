#include "kith/core/config.h"

#include <ctime>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using Kind = ConfigNode::Kind;

constexpr const char* kRecipe =
    "data:\n"
    "  name: csv\n"
    "  path: \"a b\"\n"
    "\n"
    "loss: {name: recall_at_k, k: [1, 2, 4]}\n"
    "augment:\n"
    "  - name: affine\n"
    "    degrees: 5\n"
    "  - name: flip\n"
    "seed: -3\n"
    "resume:\n";

// The node at a path of keys and list positions, which must exist.
const ConfigNode& at(const ConfigNode& node,
                     const std::vector<std::string>& path) {
  const ConfigNode* here = &node;
  for (const std::string& part : path) {
    here = here->kind == Kind::kList ? &here->items.at(std::stoul(part))
                                     : here->find(part);
    if (here == nullptr) throw std::out_of_range(part);
  }
  return *here;
}

// Of processor time, which other programs do not lengthen.
double seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

template <typename... Parts>
void expect_config_refused(const std::string& yaml, const Parts&... parts) {
  expect_error<ConfigError>([&] { parse_config(yaml, "r.yaml"); }, parts...);
}

TEST(ParseConfig, KeepsTextAndPlace) {
  const ConfigNode root = parse_config(kRecipe, "r.yaml");
  EXPECT_TRUE(root.is_map());
  EXPECT_EQ(root.entries.front().first, "data");
  EXPECT_EQ(root.entries.back().first, "resume");
  EXPECT_EQ(at(root, {"data", "name"}).scalar, "csv");
  EXPECT_FALSE(at(root, {"data", "name"}).quoted);
  EXPECT_EQ(at(root, {"data", "path"}).scalar, "a b");
  EXPECT_TRUE(at(root, {"data", "path"}).quoted);
  EXPECT_EQ(at(root, {"data", "path"}).where, "r.yaml:3");
  EXPECT_EQ(at(root, {"loss", "k"}).items.size(), 3u);
  EXPECT_EQ(at(root, {"loss", "k", "2"}).scalar, "4");
  EXPECT_EQ(at(root, {"loss"}).where, "r.yaml:5");
  EXPECT_EQ(at(root, {"augment", "1", "name"}).where, "r.yaml:9");
  EXPECT_EQ(at(root, {"seed"}).scalar, "-3");
  EXPECT_EQ(at(root, {"resume"}).kind, Kind::kNull);
  EXPECT_EQ(root.find("missing"), nullptr);
}

TEST(ParseConfig, ExpandsAliases) {
  const ConfigNode root =
      parse_config("a: &x {k: 1}\nb: *x\nc: [*x, *x]\n", "r.yaml");
  EXPECT_EQ(at(root, {"b", "k"}).scalar, "1");
  EXPECT_EQ(at(root, {"c", "1", "k"}).scalar, "1");
}

TEST(ParseConfig, OfNothingIsNull) {
  EXPECT_EQ(parse_config("", "r.yaml").kind, Kind::kNull);
  EXPECT_EQ(parse_config("# only a comment\n", "r.yaml").kind, Kind::kNull);
}

TEST(ParseConfig, NamesTheLineOfErrors) {
  expect_config_refused("a: 1\nb: [1, 2\nc: 3\n", "r.yaml:", "not valid YAML");
  expect_config_refused("a: 1\nb: *nowhere\n", "r.yaml:2:", "not valid YAML");
  expect_config_refused("a: 1\n\tb: 2\n", "r.yaml:2:", "not valid YAML");
  expect_config_refused("a: 1\nb: 2\na: 3\n", "r.yaml:3:", "'a' is given twice",
                        "r.yaml:1");
  expect_config_refused("x:\n  a: 1\n  a: 1\n", "r.yaml:3:", "given twice");
  expect_config_refused("a: 1\n[1, 2]: 3\n", "r.yaml:2:", "plain word");
  expect_config_refused("a: 1\n~: 3\n", "r.yaml:2:", "plain word");
}

TEST(ParseConfig, RefusesWhatIsNotUtf8) {
  const std::string latin = "caf\xe9";
  for (const std::string& value :
       {latin, "'" + latin + "'", "\"" + latin + "\"", "|\n  " + latin,
        "[a, " + latin + "]", "{" + latin + ": 1}", std::string("\xc0\xaf"),
        std::string("\xed\xa0\x80")}) {
    expect_error<ConfigError>(
        [&] { parse_config("a: 1\nb: " + value + "\n", "r.yaml"); },
        "r.yaml:2: ", "is not UTF-8");
  }
  expect_error<ConfigError>(
      [&] {
        ConfigNode root;
        apply_override(root, "data.path=" + latin, "--set");
      },
      "--set data.path=", "is not UTF-8");
  // In comments it changes nothing.
  EXPECT_EQ(at(parse_config("a: 1  # " + latin, "r.yaml"), {"a"}).scalar, "1");
  EXPECT_EQ(at(parse_config("a: caf\xc3\xa9", "r.yaml"), {"a"}).scalar,
            "caf\xc3\xa9");
}

TEST(ToYaml, RefusesWhatIsNotUtf8) {
  ConfigNode root;
  root.set("path", ConfigNode::text("/a/caf\xe9"));
  expect_error<ConfigError>([&] { to_yaml(root); }, "'/a/caf\\xe9'",
                            "is not UTF-8");
}

TEST(ParseConfig, RefusesTextAfterItsEnd) {
  expect_config_refused("a: 1\n---\na: 2\n", "r.yaml", "second document");
  expect_config_refused("a: 1\n]\nb: 2\n", "r.yaml:2:", "not valid YAML");
  expect_config_refused("{a: 1}}\n", "r.yaml:1:", "not valid YAML");
  expect_config_refused(", 2\na: 1\n", "r.yaml", "text after the end");
  EXPECT_TRUE(parse_config("---\na: 1\n...\n", "r.yaml").is_map());
}

TEST(ParseConfig, RefusesAnAliasBombQuickly) {
  std::string lists = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  std::string maps = "a0: &a0 {a: x, b: x, c: x, d: x}\n";
  for (int i = 1; i < 30; ++i) {
    const std::string name = "a" + std::to_string(i);
    const std::string last = "*a" + std::to_string(i - 1);
    lists += name + ": &" + name + " [" + last;
    for (int j = 1; j < 10; ++j) lists += ", " + last;
    lists += "]\n";
    maps += name + ": &" + name + " {a: " + last + ", b: " + last +
            ", c: " + last + ", d: " + last + "}\n";
  }
  const std::clock_t start = std::clock();
  expect_config_refused(lists, "r.yaml:", "too large");
  expect_config_refused(maps, "r.yaml:", "too large");
  EXPECT_LT(seconds_since(start), 5.0);
}

TEST(ParseConfig, RefusesAnAliasOfItself) {
  expect_config_refused("a: &a [1, *a]\n", "r.yaml");
  expect_config_refused("a: &a {b: *a}\n", "r.yaml");
}

TEST(ParseConfig, RefusesDeepNesting) {
  for (const size_t depth : {100u, 10'000u, 1'000'000u}) {
    expect_config_refused("a: " + std::string(depth, '['), "r.yaml:");
    expect_config_refused(
        "a: " + std::string(depth, '[') + std::string(depth, ']'), "r.yaml:");
    expect_config_refused("a: " + std::string(depth, '{'), "r.yaml:");
  }
  std::string block;
  for (size_t i = 0; i < 200; ++i) block += std::string(i, ' ') + "a:\n";
  expect_config_refused(block, "r.yaml:");
}

TEST(ParseConfig, IsQuickOnManyKeys) {
  std::string yaml;
  for (int i = 0; i < 45'000; ++i) yaml += "k" + std::to_string(i) + ": 1\n";
  const std::clock_t start = std::clock();
  EXPECT_EQ(parse_config(yaml, "r.yaml").entries.size(), 45'000u);
  EXPECT_LT(seconds_since(start), 2.0);
}

// A checkpoint holds its configuration as text.
TEST(ParseConfig, RefusesLongTextsAndLongAliases) {
  expect_error<ConfigError>(
      [] { parse_config(std::string(5 << 20, ' '), "last.safetensors"); },
      "last.safetensors: a configuration of 5242880 bytes", "at most 4194304");
  std::string text = "a: &a " + std::string(1 << 20, 'x') + "\nb: [";
  for (int i = 0; i < 20; ++i) text += "*a, ";
  expect_error<ConfigError>([&] { parse_config(text + "]", "r.yaml"); },
                            "r.yaml:1", "too large");
}

TEST(ParseConfig, DamagedTextIsReadOrRefused) {
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    try {
      parse_config(damage(kRecipe, random), "r.yaml");
    } catch (const ConfigError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(LoadConfig, ReadsAMapFromAFile) {
  const TempDir dir;
  const std::string path = dir.write("r.yaml", kRecipe);
  EXPECT_EQ(at(load_config(path), {"data"}).where, path + ":1");
  expect_error<ConfigError>([&] { load_config(dir.write("l", "[1, 2]")); },
                            dir.file("l"), "map of sections");
  expect_error<ConfigError>([&] { load_config(dir.write("e", "")); },
                            dir.file("e"), "map of sections");
  expect_error<DataError>([&] { load_config(dir.file("no.yaml")); },
                          dir.file("no.yaml"), "No such file");
  expect_error<DataError>(
      [&] { load_config(dir.write("big", std::string(5 << 20, ' '))); },
      dir.file("big"));
}

}  // namespace
}  // namespace kith
