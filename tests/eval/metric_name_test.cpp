#include "kith/eval/metric_name.h"

#include <string>

#include <gtest/gtest.h>

namespace kith {
namespace {

struct NameCase {
  const char* text;
  MetricName parts;
  const char* metric;
  const char* general;
};

TEST(MetricName, IsReadAndWrittenTheSame) {
  const NameCase cases[] = {
      {"map_at_r", {"", "map_at_r", ""}, "map_at_r", "map_at_r"},
      {"recall_any@10",
       {"", "recall_any", "10"},
       "recall_any@10",
       "recall_any@k"},
      {"tar@0.001", {"", "tar", "0.001"}, "tar@0.001", "tar@k"},
      {"recall_any@1,10",
       {"", "recall_any", "1,10"},
       "recall_any@1,10",
       "recall_any@k"},
      {"medium/mp@5", {"medium", "mp", "5"}, "mp@5", "mp@k"},
      {"separated/hard/map", {"separated/hard", "map", ""}, "map", "map"},
      {"a@b/map", {"a@b", "map", ""}, "map", "map"},
      {"rho_2", {"", "rho_2", ""}, "rho_2", "rho_2"},
      {"", {"", "", ""}, "", ""},
      // Nothing to separate: a base that no metric has.
      {"map@", {"", "map@", ""}, "map@", "map@"},
      {"/map", {"", "/map", ""}, "/map", "/map"},
      {"medium/", {"medium", "", ""}, "", ""},
  };
  for (const NameCase& one : cases) {
    SCOPED_TRACE(one.text);
    const MetricName name = MetricName::parse(one.text);
    EXPECT_EQ(name, one.parts);
    EXPECT_EQ(name.text(), one.text);
    EXPECT_EQ(name.metric(), one.metric);
    EXPECT_EQ(name.general(), one.general);
  }
}

TEST(MetricName, IsPutIntoAPart) {
  const MetricName name = MetricName::parse("mp@5");
  EXPECT_EQ(name.within("").text(), "mp@5");
  EXPECT_EQ(name.within("hard").text(), "hard/mp@5");
  EXPECT_EQ(name.within("hard").within("separated").text(),
            "separated/hard/mp@5");
}

TEST(MetricName, IsAMetricInAnyPart) {
  EXPECT_TRUE(MetricName::parse("map").is("map"));
  EXPECT_TRUE(MetricName::parse("medium/map").is("map"));
  EXPECT_TRUE(MetricName::parse("separated/medium/map").is("medium/map"));
  EXPECT_FALSE(MetricName::parse("medium/map@5").is("map"));
  EXPECT_FALSE(MetricName::parse("medium/trap").is("rap"));
}

}  // namespace
}  // namespace kith
