#include "kith/core/options.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/log.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

struct Everything {
  bool flag = false;
  int64_t count = 3;
  double rate = 0.5;
  std::string word = "abc";
  std::vector<int64_t> counts = {1, 2};
  std::vector<double> rates = {0.25};
  std::vector<std::string> words = {"x"};

  void describe(OptionSet& set) {
    set.add("flag", flag, "A flag.");
    set.add("count", count, "A count.");
    set.add("rate", rate, "A rate.");
    set.add("word", word, "A word.");
    set.add("counts", counts, "Counts.");
    set.add("rates", rates, "Rates.");
    set.add("words", words, "Words.");
  }
};

struct Limited {
  int64_t steps = 5;
  double share = 0.5;
  double rate = 1.0;
  double part = 0.5;
  std::string kind = "cosine";
  std::string path = "p";
  std::vector<int64_t> k = {1};
  std::vector<std::string> kinds = {"cosine"};

  void describe(OptionSet& set) {
    set.add("steps", steps, "").range(2, 1'000'000);
    set.add("share", share, "").range(0, 1);
    set.add("rate", rate, "").positive();
    set.add("part", part, "").positive().range(0, 1);
    set.add("kind", kind, "").choices({"cosine", "step", "constant"});
    set.add("path", path, "").not_empty();
    set.add("k", k, "").range(1).not_empty();
    set.add("kinds", kinds, "").choices({"cosine", "step"});
  }
};

template <class T>
T read(const std::string& yaml) {
  return read_options<T>(parse_config(yaml, "r.yaml"), "loss", {"name"});
}

template <class T, typename... Parts>
void expect_refused(const std::string& yaml, const Parts&... parts) {
  SCOPED_TRACE(yaml);
  expect_error<ConfigError>([&] { read<T>(yaml); }, parts...);
}

TEST(Options, KeepDefaultsOfMissingKeys) {
  for (const char* yaml : {"", "{}", "name: other"}) {
    const auto options = read<Everything>(yaml);
    EXPECT_EQ(options.count, 3);
    EXPECT_EQ(options.word, "abc");
    EXPECT_EQ(options.counts, (std::vector<int64_t>{1, 2}));
  }
}

TEST(Options, ReadEveryType) {
  const auto options = read<Everything>(
      "flag: true\ncount: -7\nrate: 1e-3\nword: some text\n"
      "counts: [4, +5]\nrates: [1, 2.5]\nwords: [a, \"1\", 2]\n");
  EXPECT_TRUE(options.flag);
  EXPECT_EQ(options.count, -7);
  EXPECT_EQ(options.rate, 1e-3);
  EXPECT_EQ(options.word, "some text");
  EXPECT_EQ(options.counts, (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(options.rates, (std::vector<double>{1.0, 2.5}));
  EXPECT_EQ(options.words, (std::vector<std::string>{"a", "1", "2"}));
  EXPECT_TRUE(read<Everything>("counts: []").counts.empty());
  EXPECT_EQ(read<Everything>("word: 12").word, "12");
  EXPECT_EQ(read<Everything>("word: \"\"").word, "");
}

TEST(Options, RefuseAnotherType) {
  for (const char* value :
       {"yes", "1", "True", "\"true\"", "[true]", "{}", ""}) {
    expect_refused<Everything>("flag: " + std::string(value), "r.yaml:1",
                               "'loss.flag' must be true or false");
  }
  for (const char* value : {"x", "1.5", "1e3", "0x10", "\"1\"", "'1'", "1 2",
                            "true", "[1]", "{}", "", "+-1", "--1", "+"}) {
    expect_refused<Everything>("count: " + std::string(value),
                               "'loss.count' must be int");
  }
  for (const char* value : {"x", "\"1\"", "1,5", "1.5x", "0x1p3", "[1.0]", "{}",
                            "", "+-1", "true"}) {
    expect_refused<Everything>("rate: " + std::string(value),
                               "'loss.rate' must be float");
  }
  for (const char* value : {"[a]", "{a: b}", ""}) {
    expect_refused<Everything>("word: " + std::string(value),
                               "'loss.word' must be text");
  }
  for (const char* key : {"counts", "rates", "words"}) {
    expect_refused<Everything>(key + std::string(": 1"), "must be a list of");
    expect_refused<Everything>(key + std::string(": [[1]]"), "got a list");
    expect_refused<Everything>(key + std::string(": [~]"), "got nothing");
  }
  expect_refused<Everything>("counts: [1,\n 2.5]", "r.yaml:2",
                             "'loss.counts' must be int, got '2.5'");
  expect_refused<Everything>("[1, 2]", "'loss' must be a map", "a list");
  expect_refused<Everything>("5", "'loss' must be a map", "'5'");
}

TEST(Options, RefuseNumbersThatDoNotFit) {
  EXPECT_EQ(read<Everything>("count: 9223372036854775807").count, INT64_MAX);
  EXPECT_EQ(read<Everything>("count: -9223372036854775808").count, INT64_MIN);
  expect_refused<Everything>("count: 9223372036854775808", "must be int");
  expect_refused<Everything>("count: -9223372036854775809", "must be int");
  for (const char* value : {"nan", "inf", "-inf", "NaN", ".nan", ".inf",
                            "-.inf", "infinity", "1e400", "-1e400"}) {
    expect_refused<Everything>("rate: " + std::string(value), "must be float");
    expect_refused<Everything>("rates: [" + std::string(value) + "]",
                               "must be float");
  }
}

TEST(Options, RefuseNumbersOfAProgramThatNoConfigurationHas) {
  const auto refused = [](auto options, const auto&... parts) {
    expect_error<ConfigError>([&] { checked(options, "loss"); }, parts...);
  };
  refused(Everything{.rate = INFINITY}, "'loss.rate' must be finite, got inf");
  refused(Everything{.rate = NAN}, "'loss.rate' must be finite, got nan");
  refused(Everything{.rates = {0.5, -INFINITY}}, "'loss.rates'", "finite");
  refused(Limited{.rate = INFINITY}, "'loss.rate' must be finite");
  refused(Limited{.rate = NAN}, "'loss.rate' must be greater than 0, got nan");
}

TEST(Options, CheckRanges) {
  EXPECT_EQ(read<Limited>("steps: 2").steps, 2);
  EXPECT_EQ(read<Limited>("steps: 1000000").steps, 1'000'000);
  expect_refused<Limited>("\nsteps: 1", "r.yaml:2",
                          "'loss.steps' must be in [2, 1000000], got 1");
  expect_refused<Limited>("steps: 2000000", "got 2000000");
  EXPECT_EQ(read<Limited>("share: 0").share, 0.0);
  EXPECT_EQ(read<Limited>("share: 1.0").share, 1.0);
  expect_refused<Limited>("share: 1.0000001", "in [0, 1], got 1.0000001");
  expect_refused<Limited>("share: -1e-9", "in [0, 1], got -1e-09");
  expect_refused<Limited>("rate: 0", "must be greater than 0, got 0");
  expect_refused<Limited>("rate: -0.0", "greater than 0");
  expect_refused<Limited>("part: 0", "greater than 0 and at most 1");
  expect_refused<Limited>("part: 2", "greater than 0 and at most 1", "got 2");
  expect_refused<Limited>("k: [4, 0]", "'loss.k' must be at least 1, got 0");
}

TEST(Options, CheckChoicesAndEmptiness) {
  EXPECT_EQ(read<Limited>("kind: step").kind, "step");
  expect_refused<Limited>("kind: cosin", "one of cosine, step, constant",
                          "got 'cosin'", "did you mean 'cosine'?");
  expect_refused<Limited>("kinds: [step, stop]", "did you mean 'step'?");
  expect_refused<Limited>("path: \"\"", "'loss.path' must not be empty");
  expect_refused<Limited>("k: []", "'loss.k' must not be empty");
}

TEST(Options, NameTheUnknownKeyItsPlaceAndTheNearest) {
  expect_refused<Everything>("flag: true\nratte: 1\n",
                             "r.yaml:2:", "unknown key 'loss.ratte'",
                             "did you mean 'rate'?", "counts");
  expect_refused<Everything>("nam: x", "did you mean 'name'?");
  expect_refused<Everything>("Count: 1", "did you mean 'count'?");
  try {
    read<Everything>("zzzzzzzzzz: 1");
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).find("did you mean"),
              std::string::npos);
  }
}

TEST(Options, NameTheFlagOfAnOverride) {
  ConfigNode root = parse_config("rate: 1\n", "r.yaml");
  apply_override(root, "rates=[1, x]");
  expect_error<ConfigError>(
      [&] { read_options<Everything>(root, "loss"); },
      "override rates=[1, x]: 'loss.rates' must be float");
}

TEST(Options, ReportTypeAndConstraint) {
  Limited limited;
  Everything everything;
  OptionSet limits;
  OptionSet types;
  limited.describe(limits);
  everything.describe(types);
  std::vector<std::string> constraints;
  std::vector<std::string> names;
  for (const Option& o : limits.options()) {
    constraints.push_back(o.constraint());
  }
  for (const Option& o : types.options()) names.push_back(o.type_name());
  EXPECT_EQ(constraints,
            (std::vector<std::string>{
                "in [2, 1000000]", "in [0, 1]", "greater than 0",
                "greater than 0 and at most 1", "one of cosine, step, constant",
                "not empty", "at least 1", "one of cosine, step"}));
  EXPECT_EQ(names, (std::vector<std::string>{"true or false", "int", "float",
                                             "text", "list of int",
                                             "list of float", "list of text"}));
  EXPECT_EQ(types.options()[0].help(), "A flag.");
}

TEST(Options, WriteWhatTheyReadBack) {
  Everything options;
  options.flag = true;
  options.count = INT64_MIN;
  options.rate = 0.1;
  options.words = {"1", "-2.5", "true", "null", "~", "", " x", "a: b", "inf"};
  for (const char* word : {"-1", "x", "nan", "1e5", "[a]", "日本", "a\nb"}) {
    options.word = word;
    const std::string yaml = to_yaml(write_options(options));
    const auto copy = read<Everything>(yaml);
    EXPECT_TRUE(copy.flag);
    EXPECT_EQ(copy.count, INT64_MIN);
    EXPECT_EQ(copy.rate, 0.1);
    EXPECT_EQ(copy.word, word);
    EXPECT_EQ(copy.words, options.words);
    EXPECT_EQ(to_yaml(write_options(copy)), yaml);
  }
}

TEST(Options, WriteTheShortestNumberThatReadsBack) {
  const auto written = [](double value) {
    Everything options;
    options.rate = value;
    return write_options(options).find("rate")->scalar;
  };
  EXPECT_EQ(written(0.1), "0.1");
  EXPECT_EQ(written(1.0 / 3.0), "0.3333333333333333");
  EXPECT_EQ(written(1e-5), "1e-05");
  EXPECT_EQ(written(2.0), "2");
  std::mt19937_64 random(3);
  std::vector<double> values = {0.0, -0.0, std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::denorm_min()};
  while (values.size() < 2000) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) values.push_back(value);
  }
  for (const double value : values) {
    EXPECT_EQ(std::bit_cast<uint64_t>(
                  read<Everything>("rate: " + written(value)).rate),
              std::bit_cast<uint64_t>(value))
        << written(value);
  }
}

TEST(NearestName, FindsLikelyMisspellingsOnly) {
  const std::vector<std::string> names = {"contrastive", "recall_at_k", "hist"};
  EXPECT_EQ(nearest_name("contrastiv", names), "contrastive");
  EXPECT_EQ(nearest_name("recal_at_k", names), "recall_at_k");
  EXPECT_EQ(nearest_name("quadruplet", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("hist", {}), "");
}

struct Renamed {
  int64_t examples = 8;
  void describe(OptionSet& set) {
    set.add("examples", examples, "").was("gallery");
  }
};

TEST(Options, ReadTheNameOfTheVersionBefore) {
  std::vector<std::string> told;
  set_log_sink([&](LogLevel level, const std::string& message) {
    EXPECT_EQ(level, LogLevel::kWarning);
    told.push_back(message);
  });
  const ConfigNode map = parse_config("\ngallery: 3", "c.yaml");
  EXPECT_EQ(read_options<Renamed>(map, "log").examples, 3);
  EXPECT_EQ(read_options<Renamed>(map, "log").examples, 3);
  set_log_sink(nullptr);
  EXPECT_EQ(told, std::vector<std::string>(
                      {"c.yaml:2: 'log.gallery' is now called 'examples'; the "
                       "old name goes in the next version"}));

  EXPECT_EQ(write_options(Renamed()).find("gallery"), nullptr);
  expect_error<ConfigError>(
      [] {
        read_options<Renamed>(
            parse_config("{gallery: 3, examples: 4}", "c.yaml"), "log");
      },
      "'log.gallery' is the old name of 'examples', which is set too: leave "
      "the old one out");
}

}  // namespace
}  // namespace kith
