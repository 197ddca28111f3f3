// `kith metrics`: the reference values through the program, and what it says
// to wrong input.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/file.h"
#include "kith/core/rng.h"
#include "kith/io/npy.h"
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
  // Beside the metrics: "protocol", "intervals" and "definitions".
  EXPECT_EQ(metrics.size(), 2 * meta.at("k").size() + 1 + 3);
  expect_at_each_k(metrics, "recall_any",
                   expected.at("recall_any_excluding_lone"), tolerance);
  expect_at_each_k(metrics, "precision", expected.at("precision_at_k"),
                   tolerance);
  EXPECT_NEAR(metrics.at("map_at_r").get<double>(),
              expected.at("mean_average_precision_at_r").get<double>(),
              tolerance);
  if (metrics.at("protocol").at("queries_without_positives") == 0) return;

  const Json missed = metrics_of(golden, "recall_any@" + list, "miss");
  EXPECT_EQ(missed.size(), meta.at("k").size() + 3);
  expect_at_each_k(missed, "recall_any", expected.at("recall_any"), tolerance);
}

/// Rows near the centres of ten classes, times a factor.
std::string write_scaled(const TempDir& folder, double factor, DType type) {
  Array rows = make_array(type, {100, 8});
  Rng rng(3, Stream::kReport);
  for (int64_t i = 0; i < 100; ++i) {
    Rng centre(4, Stream::kReport, {i % 10});
    for (int64_t j = 0; j < 8; ++j) {
      const double value =
          factor * (centre.uniform(-1, 1) + rng.uniform(-0.6, 0.6));
      const auto at = static_cast<size_t>(8 * i + j);
      if (type == DType::kF32) {
        rows.values<float>()[at] = static_cast<float>(value);
      } else {
        rows.values<double>()[at] = value;
      }
    }
  }
  const std::string path = folder.file("scaled.npy");
  write_npy(path, rows);
  return path;
}

TEST(MetricsCommand, LengthsOfEmbeddingsDoNotMatter) {
  const TempDir folder;
  Array labels = make_array(DType::kI64, {100});
  for (int64_t i = 0; i < 100; ++i) {
    labels.values<int64_t>()[static_cast<size_t>(i)] = i % 10;
  }
  write_npy(folder.file("labels.npy"), labels);
  const auto score = [&](double factor, DType type) {
    return Json::parse(
        expect_success({"metrics", "--embeddings",
                        write_scaled(folder, factor, type), "--labels",
                        folder.file("labels.npy"), "--json"})
            .out);
  };
  const Json expected = score(1, DType::kF32);
  EXPECT_GT(expected.at("recall_any@1"), 0.5);
  EXPECT_LT(expected.at("recall_any@1"), 1);
  for (const double factor : {1e20, 1e-25, 1e37, 1e-36}) {
    EXPECT_EQ(score(factor, DType::kF32), expected) << factor;
  }
  for (const double factor : {1.0, 1e300, 1e-290}) {
    EXPECT_EQ(score(factor, DType::kF64), expected) << factor;
  }
}

TEST(MetricsCommand, ARowOfZerosHasNoPlaceInARanking) {
  const TempDir folder;
  Array rows = make_array(DType::kF32, {4, 2});
  for (size_t i = 0; i < 6; ++i) rows.values<float>()[i] = 1;
  write_npy(folder.file("rows.npy"), rows);
  write_npy(folder.file("labels.npy"), make_array(DType::kI64, {4}));
  expect_failure(1,
                 {"metrics", "--embeddings", folder.file("rows.npy"),
                  "--labels", folder.file("labels.npy")},
                 {"rows.npy", "row 3", "no direction"});
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

TEST(MetricsCommand, ScoresGivenClusters) {
  for (const GoldenFiles& golden : golden_files("metrics_single")) {
    const Json expected = golden.meta().at("expected_clustering");
    const Json metrics = Json::parse(
        expect_success({"metrics", "--embeddings", golden.path("e"), "--labels",
                        golden.path("labels"), "--clusters",
                        golden.path("cluster_assignment"), "--metrics",
                        "nmi,ami,f1,rho_2,map_1000", "--no-positive", "miss",
                        "--json"})
            .out);
    EXPECT_NEAR(metrics.at("nmi"), expected.at("nmi_arithmetic"), 1e-6);
    EXPECT_NEAR(metrics.at("ami"), expected.at("ami_arithmetic"), 1e-6);
    EXPECT_NEAR(metrics.at("f1"), expected.at("f1"), 1e-6);
    EXPECT_NEAR(metrics.at("rho_2"),
                golden.meta()
                    .at("expected_rho_spectrum_torch_path")
                    .at("rho_spectrum@2"),
                1e-6);
    EXPECT_NEAR(metrics.at("map_1000"),
                golden.meta().at("clean_revisiting_map").at("mAP_1000"), 1e-6);
  }
}

TEST(MetricsCommand, FilesLargerThanTheMemoryGiveTheSame) {
  const TempDir folder;
  // 20 MB, more than --memory 16.
  constexpr int64_t kCount = 10000;
  constexpr int64_t kDim = 512;
  Array rows = make_array(DType::kF32, {kCount, kDim});
  Array labels = make_array(DType::kI64, {kCount});
  Rng rng(1, Stream::kReport);
  for (float& value : rows.values<float>()) {
    value = static_cast<float>(rng.uniform(-1, 1));
  }
  for (int64_t i = 0; i < kCount; ++i)
    labels.values<int64_t>()[static_cast<size_t>(i)] = i % 2500;
  // Every class has a pair of near copies.
  auto x = rows.values<float>();
  for (int64_t i = 0; i < 2500 * kDim; ++i) {
    x[2500 * kDim + i] = x[i] + 0.5f * x[5000 * kDim + i];
  }
  write_npy(folder.file("e.npy"), rows);
  write_npy(folder.file("y.npy"), labels);
  std::vector<std::string> results;
  for (const char* memory : {"16", "512"}) {
    results.push_back(
        expect_success({"metrics", "--embeddings", folder.file("e.npy"),
                        "--labels", folder.file("y.npy"), "--bootstrap", "20",
                        "--memory", memory, "--json"})
            .out);
  }
  EXPECT_EQ(results[0], results[1]);
}

/// The lists of a golden case as a ground truth in JSON.
Json ground_truth(const GoldenFiles& golden, size_t queries, size_t images) {
  Json truth = {{"imlist", Json::array()}, {"qimlist", Json::array()}};
  for (size_t i = 0; i < images; ++i) {
    truth["imlist"].push_back("image" + std::to_string(i));
  }
  for (size_t q = 0; q < queries; ++q) {
    truth["qimlist"].push_back("query" + std::to_string(q));
    Json lists = Json::object();
    for (const char* list : {"easy", "hard", "junk"}) {
      const std::string name = list;
      const Array offsets = read_npy(golden.path(name + "_offsets"));
      const Array items = read_npy(golden.path(name + "_idx"));
      const auto first = static_cast<size_t>(offsets.values<int64_t>()[q]);
      const auto last = static_cast<size_t>(offsets.values<int64_t>()[q + 1]);
      lists[name] = Json::array();
      for (size_t i = first; i < last; ++i) {
        lists[name].push_back(items.values<int64_t>()[i]);
      }
    }
    truth["gnd"].push_back(lists);
  }
  return truth;
}

TEST(MetricsCommand, ScoresAGroundTruthOfOxfordAndParis) {
  for (const GoldenFiles& golden : golden_files("revisitop")) {
    const Array queries = read_npy(golden.path("Q"));
    const Array images = read_npy(golden.path("X"));
    const TempDir folder;
    const std::string truth = folder.file("gnd.json");
    write_file(truth,
               ground_truth(golden, static_cast<size_t>(queries.shape[0]),
                            static_cast<size_t>(images.shape[0]))
                   .dump());
    const Json metrics =
        Json::parse(expect_success({"metrics", "--embeddings", golden.path("Q"),
                                    "--gallery-embeddings", golden.path("X"),
                                    "--ground-truth", truth, "--json"})
                        .out);
    for (const char* name : {"easy", "medium", "hard"}) {
      const std::string setting = name;
      const Json expected = golden.meta().at("expected").at(setting);
      EXPECT_NEAR(metrics.at(setting + "/map_trapezoid"), expected.at("map"),
                  1e-9);
      EXPECT_NEAR(metrics.at(setting + "/mp@5"), expected.at("mp_at_k")[1],
                  1e-9);
    }
    EXPECT_EQ(metrics.at("protocol").at("parts").size(), 3u);
  }
}

TEST(MetricsCommand, RefusesAGalleryOfAnotherSize) {
  const GoldenFiles golden = golden_files("metrics_query_gallery").front();
  const TempDir folder;
  const std::string gallery = folder.file("g.npy");
  Array rows = make_array(DType::kF32, {500, 3});
  for (float& value : rows.values<float>()) value = 1;
  write_npy(gallery, rows);
  expect_failure(1,
                 {"metrics", "--embeddings", golden.path("query"), "--labels",
                  golden.path("query_labels"), "--gallery-embeddings", gallery,
                  "--gallery-labels", golden.path("gallery_labels")},
                 {gallery, "size 3"});
}

}  // namespace
}  // namespace kith
