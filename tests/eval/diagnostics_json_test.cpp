#include "kith/eval/diagnostics_json.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kith {
namespace {

using Json = nlohmann::json;

/// Three queries among themselves: two of class 1 and, confused with the
/// first, one of class 2 without positives.
Diagnostics example() {
  Diagnostics d;
  d.gallery = 3;
  d.without_positives = 1;
  d.without_negative = 2;
  d.query_labels = d.gallery_labels = {1, 1, 2};
  d.queries.resize(3);
  d.queries[0].average_precision = 0.5;
  d.queries[0].nearest = 2;
  d.queries[0].nearest_similarity = 0.1F;
  d.queries[0].nearest_positive_rank = 2;
  d.queries[0].nearest_negative = 2;
  d.queries[0].nearest_negative_similarity = 0.1F;
  d.queries[0].farthest_positive = 1;
  d.queries[0].farthest_positive_rank = 2;
  d.queries[0].farthest_positive_similarity = 0;
  d.queries[1].average_precision = 1.0 / 3;
  d.queries[1].nearest = 0;
  d.queries[1].nearest_positive_rank = 1;
  d.hardest = {1, 0};
  d.confused = {{1, 2, 3, 0.75, 2}};
  d.hubness.k = 10;
  d.hubness.maximum = 4;
  d.hubness.never_found = 1;
  d.hubness.largest = {{2, 4}, {0, 1}};
  return d;
}

TEST(DiagnosticsJson, HasColumnsAndDefinitions) {
  const nlohmann::json json =
      nlohmann::json::parse(diagnostics_json(example()));
  EXPECT_EQ(json["queries"], 3);
  EXPECT_EQ(json["gallery"], 3);
  EXPECT_EQ(json["queries_without_positives"], 1);
  EXPECT_EQ(json["queries_without_negative"], 2);
  const Json& columns = json["by_query"];
  EXPECT_EQ(columns["nearest"], Json({2, 0, nullptr}));
  EXPECT_EQ(columns["nearest_positive_rank"], Json({2, 1, nullptr}));
  EXPECT_EQ(columns["nearest_negative"], Json({2, nullptr, nullptr}));
  EXPECT_EQ(columns["farthest_positive"], Json({1, nullptr, nullptr}));
  EXPECT_EQ(columns["farthest_positive_rank"], Json({2, nullptr, nullptr}));
  EXPECT_EQ(columns["farthest_positive_similarity"],
            Json({0.0, nullptr, nullptr}));
  EXPECT_EQ(json["hubness"]["k"], 10);
  EXPECT_TRUE(json["hubness"]["skewness"].is_null());
  EXPECT_EQ(json["hubness"]["maximum"], 4);
  EXPECT_EQ(json["hubness"]["never_found_share"], 0.333333333);
  EXPECT_EQ(json["confused_pairs"][0]["share"], 0.75);
  EXPECT_EQ(json["confused_pairs"][0]["reverse"], 2);
  EXPECT_EQ(json["confused_pairs"][0]["both"], 5);
  for (const char* name : {"ranking", "hardest_queries", "confused_pairs",
                           "hubness", "average_precision", "nearest_negative",
                           "farthest_positive", "nearest_positive_rank"}) {
    EXPECT_TRUE(json["definitions"].contains(name)) << name;
  }
}

TEST(DiagnosticsJson, HasNamesWhereTheyAreKnown) {
  DiagnosticNames names;
  names.query_paths = {"q0.jpg", "q1.jpg", "q2.jpg"};
  names.gallery_paths = {"g0.jpg", "g1.jpg", "g\xff.jpg"};  // not UTF-8
  names.class_names = {{2, "two"}};
  const auto json = nlohmann::json::parse(diagnostics_json(example(), names));
  const auto& hardest = json["hardest_queries"][1];
  EXPECT_EQ(hardest["query"], 0);
  EXPECT_EQ(hardest["path"], "q0.jpg");
  EXPECT_EQ(hardest["class"], 1);
  EXPECT_FALSE(hardest.contains("class_name"));
  EXPECT_EQ(hardest["nearest_path"], "g\\xff.jpg");
  EXPECT_EQ(hardest["nearest_path_bytes"], "67ff2e6a7067");
  EXPECT_EQ(hardest["nearest_class"], 2);
  EXPECT_EQ(hardest["nearest_class_name"], "two");
  EXPECT_EQ(json["confused_pairs"][0]["to_name"], "two");
  EXPECT_EQ(json["hubness"]["hubs"][1]["path"], "g0.jpg");
  EXPECT_EQ(json["hubness"]["hubs"][1]["count"], 1);
}

TEST(DiagnosticsJson, HasNineDigitsAndNoNamesByDefault) {
  const std::string text = diagnostics_json(example());
  EXPECT_NE(text.find("\"average_precision\":[0.5,0.333333333,null]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\"nearest_similarity\":[0.100000001,null,null]"),
            std::string::npos);
  EXPECT_EQ(text.find("path"), std::string::npos);
  EXPECT_EQ(text.find("_name"), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(DiagnosticsJson, OfNothingIsAnObject) {
  const auto json = nlohmann::json::parse(diagnostics_json({}));
  EXPECT_EQ(json["queries"], 0);
  EXPECT_TRUE(json["hubness"]["never_found_share"].is_null());
  EXPECT_TRUE(json["by_query"]["nearest"].empty());
}

}  // namespace
}  // namespace kith
