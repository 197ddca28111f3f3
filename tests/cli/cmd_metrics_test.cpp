// `kith metrics`: the reference values through the program, and what it says
// to wrong input.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/npy.h"
#include "tests/cli/golden_files.h"
#include "tests/cli/run_program.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using Json = nlohmann::json;

Json metrics_of(const GoldenFiles& golden, const std::string& names,
                const std::string& no_positive) {
  std::vector<std::string> arguments = {"metrics",       "--metrics", names,
                                        "--no-positive", no_positive, "--json"};
  const auto add = [&](const char* flag, const char* array) {
    arguments.push_back(flag);
    arguments.push_back(golden.path(array));
  };
  if (golden.item == "metrics_single") {
    add("--embeddings", "e");
    add("--labels", "labels");
  } else {
    add("--embeddings", "query");
    add("--labels", "query_labels");
    add("--gallery-embeddings", "gallery");
    add("--gallery-labels", "gallery_labels");
  }
  return Json::parse(expect_success(arguments).out);
}

/// The metrics `name`@k for every k stored in `expected`.
void expect_at_each_k(const Json& metrics, const std::string& name,
                      const Json& expected, double tolerance) {
  ASSERT_FALSE(expected.empty());
  for (const auto& [k, value] : expected.items()) {
    EXPECT_NEAR(metrics.at(name + "@" + k).get<double>(), value.get<double>(),
                tolerance)
        << name << "@" << k;
  }
}

void check(const GoldenFiles& golden) {
  SCOPED_TRACE(golden.item + "/" + golden.name);
  const Json meta = golden.meta();
  const Json& expected = meta.at("expected_numpy");
  const double tolerance = meta.at("tolerance").at("default_abs");
  std::string list;
  for (const Json& k : meta.at("k"))
    list += (list.empty() ? "" : ",") + k.dump();
  const std::string names =
      "recall_any@" + list + ",map_at_r,precision@" + list;

  const Json metrics = metrics_of(golden, names, "leave_out");
  EXPECT_EQ(metrics.size(), 2 * meta.at("k").size() + 1 + 1);  // + "protocol"
  expect_at_each_k(metrics, "recall_any",
                   expected.at("recall_any_excluding_lone"), tolerance);
  expect_at_each_k(metrics, "precision", expected.at("precision_at_k"),
                   tolerance);
  EXPECT_NEAR(metrics.at("map_at_r").get<double>(),
              expected.at("mean_average_precision_at_r").get<double>(),
              tolerance);
  if (metrics.at("protocol").at("queries_without_positives") == 0) return;

  const Json missed = metrics_of(golden, "recall_any@" + list, "miss");
  EXPECT_EQ(missed.size(), meta.at("k").size() + 1);
  expect_at_each_k(missed, "recall_any", expected.at("recall_any"), tolerance);
}

TEST(MetricsCommand, AgreesAmongTheItemsThemselves) {
  for (const GoldenFiles& golden : golden_files("metrics_single")) {
    check(golden);
  }
}

TEST(MetricsCommand, AgreesOnQueriesAndGallery) {
  for (const GoldenFiles& golden : golden_files("metrics_query_gallery")) {
    check(golden);
  }
}

TEST(MetricsCommand, RefusesWrongUsage) {
  const GoldenFiles golden = golden_files("metrics_query_gallery").front();
  const std::vector<std::string> base = {"metrics", "--embeddings",
                                         golden.path("query"), "--labels",
                                         golden.path("query_labels")};
  const auto refused = [&](const std::vector<std::string>& more,
                           const std::vector<std::string_view>& parts) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_failure(2, arguments, parts);
  };
  refused({"--metrics", "recall_ny@1"},
          {"recall_ny", "did you mean 'recall_any'?", "map_at_r"});
  refused({"--metrics", "recall_any"}, {"'recall_any'", "recall_any@1"});
  refused({"--metrics", "recall_any@1,0"}, {"recall_any@1,0", "'0'"});
  refused({"--no-positive", "mis"},
          {"--no-positive", "leave_out", "did you mean 'miss'?"});
  refused({"--gallery-embeddings", golden.path("gallery")},
          {"--gallery-embeddings", "--gallery-labels"});
}

TEST(MetricsCommand, RefusesAGalleryOfAnotherSize) {
  const GoldenFiles golden = golden_files("metrics_query_gallery").front();
  const TempDir folder;
  const std::string gallery = folder.file("g.npy");
  write_npy(gallery, make_array(DType::kF32, {500, 3}));
  expect_failure(1,
                 {"metrics", "--embeddings", golden.path("query"), "--labels",
                  golden.path("query_labels"), "--gallery-embeddings", gallery,
                  "--gallery-labels", golden.path("gallery_labels")},
                 {gallery, "size 3"});
}

}  // namespace
}  // namespace kith
