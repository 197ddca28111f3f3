// Overrides, merging and writing of configurations.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/config.h"
#include "kith/core/error.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

using Kind = ConfigNode::Kind;

// The text of a configuration after some overrides.
std::string overridden(const std::string& yaml,
                       const std::vector<std::string>& assignments) {
  ConfigNode root = parse_config(yaml, "r.yaml");
  for (const std::string& assignment : assignments) {
    apply_override(root, assignment);
  }
  return to_yaml(root);
}

template <typename... Parts>
void expect_edit_refused(const std::string& assignment, const Parts&... parts) {
  ConfigNode root = parse_config("a: 1\nl: [1, 2]\nm: {x: 1}\n", "r.yaml");
  expect_error<ConfigError>([&] { apply_override(root, assignment); },
                            "override " + assignment, parts...);
}

// Everything but where it was written.
void expect_same(const ConfigNode& a, const ConfigNode& b) {
  ASSERT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.scalar, b.scalar);
  ASSERT_EQ(a.items.size(), b.items.size());
  ASSERT_EQ(a.entries.size(), b.entries.size());
  for (size_t i = 0; i < a.items.size(); ++i) {
    expect_same(a.items[i], b.items[i]);
  }
  for (size_t i = 0; i < a.entries.size(); ++i) {
    EXPECT_EQ(a.entries[i].first, b.entries[i].first);
    expect_same(a.entries[i].second, b.entries[i].second);
  }
}

TEST(ApplyOverride, ReplacesAndAdds) {
  EXPECT_EQ(overridden("a: 1\nm: {x: 1}\n",
                       {"a=2", "m.x=-3", "m.y=true", "n.o.p=text", "b="}),
            "a: 2\nm:\n  x: -3\n  y: true\nn:\n  o:\n    p: text\nb: ~\n");
  EXPECT_EQ(overridden("", {"a.b=1"}), "a:\n  b: 1\n");
  EXPECT_EQ(overridden("a:\n", {"a.b=1"}), "a:\n  b: 1\n");
  EXPECT_EQ(overridden("m: {x: 1}\n", {"m=5"}), "m: 5\n");
}

TEST(ApplyOverride, ReadsTheValueAsYaml) {
  EXPECT_EQ(overridden("k: 1\n", {"k=[1,2, 4]"}), "k: [1, 2, 4]\n");
  EXPECT_EQ(overridden("k: 1\n", {"k={x: 1}"}), "k:\n  x: 1\n");
  EXPECT_EQ(overridden("k: 1\n", {"k=\"1\""}), "k: \"1\"\n");
  EXPECT_EQ(overridden("k: 1\n", {"k=a=b"}), "k: a=b\n");
}

TEST(ApplyOverride, ReachesIntoLists) {
  EXPECT_EQ(overridden("l: [1, 2, 3]\n", {"l.1=7"}), "l: [1, 7, 3]\n");
  EXPECT_EQ(overridden("l:\n  - {a: 1}\n", {"l.0.a=2", "l.0.b=3"}),
            "l:\n  - a: 2\n    b: 3\n");
}

TEST(ApplyOverride, RemembersWhereItCameFrom) {
  ConfigNode root = parse_config("a: {b: 1}\n", "r.yaml");
  apply_override(root, "a.b=[x, {y: z}]");
  const ConfigNode& value = *root.find("a")->find("b");
  EXPECT_EQ(value.where, "override a.b=[x, {y: z}]");
  EXPECT_EQ(value.items[0].where, value.where);
  EXPECT_EQ(value.items[1].find("y")->where, value.where);
}

TEST(ApplyOverride, RefusesWhatItCannotDo) {
  expect_edit_refused("a", "KEY=VALUE");
  expect_edit_refused("=1", "KEY=VALUE");
  expect_edit_refused("", "KEY=VALUE");
  expect_edit_refused("m..x=1", "empty part");
  expect_edit_refused(".m=1", "empty part");
  expect_edit_refused("m.=1", "empty part");
  expect_edit_refused("a.b=1", "'b' lies below the plain value '1'");
  expect_edit_refused("l.2=1", "'2' is not a position in a list of 2");
  expect_edit_refused("l.x=1", "'x' is not a position");
  expect_edit_refused("l.-1=1", "'-1' is not a position");
  expect_edit_refused("l.99999999999999999999=1", "is not a position");
  expect_edit_refused("a=[1", "not valid YAML");
  expect_edit_refused("a={x: 1, x: 2}", "given twice");
}

TEST(MergeConfig, GoesIntoMapsOnly) {
  ConfigNode base =
      parse_config("a: 1\nm: {x: 1, y: [1, 2]}\nn: {z: 1}\n", "base");
  merge_config(base, parse_config("m: {y: [3], w: 4}\nn: 5\nb: 6\n", "over"));
  EXPECT_EQ(to_yaml(base), "a: 1\nm:\n  x: 1\n  y: [3]\n  w: 4\nn: 5\nb: 6\n");
  EXPECT_EQ(base.find("m")->find("x")->where, "base:2");
  EXPECT_EQ(base.find("m")->find("w")->where, "over:1");
}

TEST(MergeConfig, OfNothingTakesTheOther) {
  ConfigNode base;
  merge_config(base, parse_config("a: 1\n", "over"));
  EXPECT_EQ(to_yaml(base), "a: 1\n");
}

TEST(ToYaml, IsPlainWhereItCanBe) {
  const std::string yaml =
      "a: 1\nb: -0.5\nc: 1e-05\nd: some text\ne: [1, 2]\nf:\n  g: true\n"
      "h: []\ni: {}\nj: ~\nk: path/to/file.csv\nl: \"1\"\nm: \"true\"\n"
      "n: \"-1\"\n";
  EXPECT_EQ(to_yaml(parse_config(yaml, "r.yaml")), yaml);
}

TEST(ToYaml, RoundTripsStructures) {
  for (const char* yaml :
       {"5", "~", "[]", "{}", "a: []", "a: {}", "[[], {}, ~, [1, [2]]]",
        "a: [{b: 1}, {c: [1, {d: ~}]}]", "- - - 1\n    - 2\n  - 3\n", "\"\": 1",
        "\"~\": 1", "\"a: b\": 1", "\"- x\": 1"}) {
    const ConfigNode node = parse_config(yaml, "r.yaml");
    expect_same(parse_config(to_yaml(node), "copy"), node);
  }
}

void expect_text_survives(const std::string& text) {
  SCOPED_TRACE(text);
  ConfigNode list;
  list.kind = Kind::kList;
  list.items = {ConfigNode::text(text), ConfigNode::text(text)};
  ConfigNode map = ConfigNode::map();
  map.set("key", ConfigNode::text(text));
  map.set("list", list);
  map.set(text, ConfigNode::text("value"));
  expect_same(parse_config(to_yaml(map), "copy"), map);
  const ConfigNode alone = ConfigNode::text(text);
  expect_same(parse_config(to_yaml(alone), "copy"), alone);
}

TEST(ToYaml, RoundTripsAnyText) {
  for (const char* text :
       {"",         "1",       "-1",     "1e5",    "true",   "null",   "Null",
        "NULL",     "~",       "-",      "---",    "...",    "- a",    "-a",
        "--",       "? a",     "?",      ":",      "a: b",   "a:",     ":a",
        "a #b",     "#",       "&a",     "*a",     "!",      "!!str",  "|",
        ">",        "'",       "\"",     "\\",     "%a",     "@a",     "`",
        "[",        "]",       "{}",     ",",      " a",     "a ",     "\t",
        "a\tb",     "\n",      "a\nb\n", "a\r\nb", "\r",     "=",      "<<",
        "\x01",     "\x7f",    "ä ö ü",  "\u2028", "\u00a0", "日本語", "😀",
        "a\n\n  b", "C:\\dir", "100%",   "\ufeff"}) {
    expect_text_survives(text);
  }
}

TEST(ToYaml, RoundTripsRandomText) {
  std::mt19937_64 random(2);
  const std::string alphabet = " \t\n-:#,[]{}&*!|>'\"%@`?~.0e1a\\";
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (uint64_t length = random() % 6; length > 0; --length) {
      text += alphabet[random() % alphabet.size()];
    }
    expect_text_survives(text);
    if (::testing::Test::HasFailure()) break;
  }
}

TEST(ToYaml, KeepsQuotesThatMatter) {
  for (const char* yaml :
       {"\"1\"", "\"-1\"", "\"-1e5\"", "\"true\"", "\"x\""}) {
    EXPECT_TRUE(parse_config(to_yaml(parse_config(yaml, "a")), "b").quoted)
        << yaml;
  }
  for (const char* yaml : {"1", "-1", "-1.5e-05", "+1", "true", "x"}) {
    EXPECT_FALSE(parse_config(to_yaml(parse_config(yaml, "a")), "b").quoted)
        << yaml;
  }
}

}  // namespace
}  // namespace kith
