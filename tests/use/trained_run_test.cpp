// What is done with a trained network.

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/data/corruptions.h"
#include "kith/data/write_set.h"
#include "kith/index/stored_index.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "kith/report/make_report.h"
#include "kith/train/experiment.h"
#include "kith/use/change_index.h"
#include "kith/use/embed_images.h"
#include "kith/use/evaluate_run.h"
#include "kith/use/export_run.h"
#include "kith/use/files.h"
#include "kith/use/index_model.h"
#include "kith/use/make_index.h"
#include "kith/use/search_index.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// A run of one epoch, trained once for all tests.
class TrainedRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempDir;
    train_experiment(tiny_config({"train.epochs=1"}), run(), at::kCPU,
                     /*resume=*/false, silent_progress());
    const auto data = make_data_set(
        parse_config("{name: glyphs, classes: 4, per_class: 3}", "test"));
    write_data_set(*data, images(), silent_progress());
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string run() { return folder_->file("run"); }
  static std::string images() { return folder_->file("images"); }

  static TempDir* folder_;
  TempDir dir_;
};

TempDir* TrainedRun::folder_ = nullptr;

TEST_F(TrainedRun, EmbedsImages) {
  const std::string out = dir_.file("out.npy");
  const std::string ids = dir_.file("ids.txt");
  const EmbeddedImages made = embed_images(
      {.model = run(), .images = images(), .out = out, .ids = ids}, at::kCPU);
  EXPECT_EQ(made.images, 12);
  EXPECT_EQ(made.dim, 16);
  EXPECT_EQ(load_npy(out).sizes(), torch::IntArrayRef({12, 16}));
  EXPECT_EQ(read_lines(ids).size(), 12U);

  // Other descriptors of the same images.
  const std::string other = dir_.file("other.npy");
  embed_images({.model = run(),
                .images = images(),
                .out = other,
                .descriptor = {.flip = true}},
               at::kCPU);
  EXPECT_FALSE(torch::equal(load_npy(out), load_npy(other)));
}

TEST_F(TrainedRun, LearnsAWhitening) {
  const std::string out = dir_.file("out.npy");
  const std::string set = images() + "/dataset.csv";
  const EmbeddedImages made =
      embed_images({.model = run(),
                    .images = set,
                    .out = out,
                    .descriptor = {.whitening = {.learn = true, .dim = 3}}},
                   at::kCPU);
  EXPECT_EQ(made.dim, 3);
  // Images of a folder are of no split.
  expect_error<DataError>(
      [&] {
        embed_images({.model = run(),
                      .images = images(),
                      .out = out,
                      .descriptor = {.whitening = {.learn = true}}},
                     at::kCPU);
      },
      "no training split");
}

TEST_F(TrainedRun, IsIndexed) {
  const std::string path = dir_.file("index.faiss");
  const MadeIndex made =
      make_index({.source = {.source = run()}, .out = path}, at::kCPU);
  EXPECT_EQ(made.items, 48);  // the 6 test classes, 8 images each
  EXPECT_EQ(made.model, absolute_path(run()));
  const StoredIndex index = StoredIndex::open(path);
  EXPECT_NO_THROW(load_index_model(index, path, {}, at::kCPU));
  EXPECT_EQ(add_to_index({.index = path,
                          .source = {.source = run(), .images = images()}},
                         at::kCPU)
                .items,
            60);
}

TEST_F(TrainedRun, IsSearched) {
  const std::string path = dir_.file("index.faiss");
  make_index({.source = {.source = run(), .images = images()}, .out = path},
             at::kCPU);
  const StoredIndex index = StoredIndex::open(path);
  const std::string query = index.item(5).path;
  SearchIndexOptions options{.index = path, .images = {query}, .k = 3};
  const Rows rows = search_rows(options, index, at::kCPU);
  const std::vector<IndexAnswer> found = search_index(options, index, rows);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].query, query);
  ASSERT_EQ(found[0].hits.size(), 3U);
  EXPECT_NEAR(found[0].hits[0].similarity, 1, 1e-5);
  options.label = "none";
  expect_error<ConfigError>([&] { search_index(options, index, rows); },
                            "option 'label' none: no such class in");
}

TEST_F(TrainedRun, NamesTheModelOfEmbeddings) {
  const std::string rows = dir_.file("rows.npy");
  const std::string ids = dir_.file("ids.txt");
  embed_images({.model = run(), .images = images(), .out = rows, .ids = ids},
               at::kCPU);
  MakeIndexOptions options{
      .source = {.source = rows, .ids = ids, .model = run()},
      .out = dir_.file("index.faiss")};
  EXPECT_EQ(make_index(options, at::kCPU).model, absolute_path(run()));

  // Made otherwise, they are not what the model makes of the images.
  embed_images({.model = run(),
                .images = images(),
                .out = rows,
                .ids = ids,
                .descriptor = {.scales = {0.5}, .flip = true}},
               at::kCPU);
  options.overwrite = true;
  expect_error<ConfigError>([&] { make_index(options, at::kCPU); },
                            "row 0 is not what option 'model' " + run(),
                            "leave option 'model' out");
}

TEST_F(TrainedRun, IsEvaluated) {
  const EvaluatedRun evaluated = evaluate_run({.model = run(),
                                               .metrics = {"recall_any@1,2"},
                                               .scoring = {.bootstrap = 20},
                                               .diagnostics = true,
                                               .out = dir_.file("eval")},
                                              at::kCPU);
  EXPECT_EQ(evaluated.name, "run");
  EXPECT_EQ(evaluated.folder, dir_.file("eval"));
  const EvalReport& report = evaluated.report;
  EXPECT_EQ(report.protocol, "standard");
  EXPECT_EQ(report.split, "test");
  ASSERT_EQ(report.result.metrics.size(), 2U);
  EXPECT_EQ(report.result.metrics[1].name, "recall_any@2");
  EXPECT_TRUE(report.result.metrics[1].interval.has_value());
  EXPECT_TRUE(report.corrupted.empty());
  EXPECT_EQ(read_file(dir_.file("eval/metrics.json"), 1 << 20), evaluated.json);
  EXPECT_TRUE(fs::exists(dir_.file("eval/diagnostics.json")));
  EXPECT_FALSE(fs::exists(dir_.file("eval/corruptions.png")));
  // Its own folder, unless another is named.
  EXPECT_EQ(evaluate_run({.model = run()}, at::kCPU).folder,
            run() + "/eval/last-epoch-1-test-standard");
}

TEST_F(TrainedRun, HasAFolderForEachEvaluation) {
  const auto folder = [](EvaluateRunOptions options) {
    options.model = run();
    options.metrics = {"recall_any@1"};
    options.scoring = {};
    const EvaluatedRun made = evaluate_run(options, at::kCPU);
    return made.folder.substr((run() + "/eval/").size());
  };
  EXPECT_EQ(folder({.checkpoint = "best"}), "best-epoch-1-test-standard");
  EXPECT_EQ(folder({.checkpoint = "1", .split = "train"}),
            "last-epoch-1-train-standard");
  const std::string list = images() + "/dataset.csv";
  const std::string other = folder({.data = list});
  EXPECT_THAT(other, HasSubstr("last-epoch-1-test-standard-images-dataset-"));
  EXPECT_NE(folder({.descriptor = {.flip = true}}), folder({}));
  EXPECT_EQ(folder({.data = list}), other);

  // What is in them says what they are of.
  bool found = false;
  for (const EvalMetrics& eval : read_run_evals(RunFolder(run()))) {
    if (eval.checkpoint.name != "best") continue;
    found = true;
    EXPECT_EQ(eval.checkpoint.file, "checkpoints/best.safetensors");
    EXPECT_EQ(eval.checkpoint.epoch, 1);
    EXPECT_EQ(eval.split, "test");
    EXPECT_EQ(eval.protocol, "standard");
    EXPECT_EQ(eval.data, "");
  }
  EXPECT_TRUE(found);
  expect_error<DataError>(
      [&] { folder({.checkpoint = "7"}); }, "epoch 7 were not kept",
      "there are: last (epoch 1), best (epoch 1)", "'train.keep_every'");
  expect_error<ConfigError>([&] { folder({.checkpoint = "first"}); },
                            "option 'checkpoint' must be last, best or");
}

TEST_F(TrainedRun, IsEvaluatedOnCorruptedImages) {
  // Two of one kind: their options differ.
  const auto turn = [](double degrees) {
    return std::make_shared<RotationCorruption>(
        RotationOptions{.max_degrees = degrees});
  };
  const EvaluatedRun evaluated =
      evaluate_run({.model = run(),
                    .metrics = {"map_at_r"},
                    .scoring = {},
                    .corruptions = {{"still", turn(0)}, {"turned", turn(90)}},
                    .out = dir_.file("eval")},
                   at::kCPU);
  const std::vector<CorruptedResult>& found = evaluated.report.corrupted;
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].corruption, "turned");
  EXPECT_NEAR(found[0].result.at("map_at_r"),
              evaluated.report.result.at("map_at_r"), 0.05);
  EXPECT_NE(found[1].result.at("map_at_r"), found[0].result.at("map_at_r"));
  EXPECT_TRUE(fs::exists(dir_.file("eval/corruptions.png")));
}

TEST_F(TrainedRun, IsEvaluatedOnOtherData) {
  EvaluateRunOptions options{.model = run(),
                             .data = images() + "/dataset.csv",
                             .split = "train",
                             .metrics = {"recall_any@1"},
                             .out = dir_.file("eval")};
  EXPECT_EQ(evaluate_run(options, at::kCPU).report.split, "train");
  options.protocol = "standart";
  expect_error<ConfigError>([&] { evaluate_run(options, at::kCPU); },
                            "option 'protocol'", "standard");
  expect_error<ConfigError>([] { published_corruptions({"jpg"}); },
                            "option 'corruptions'", "jpeg");
  EXPECT_EQ(published_corruptions().size(), 9U);
}

TEST_F(TrainedRun, IsExported) {
  const std::string out = dir_.file("export");
  const ExportedRun made = export_run({.model = run(), .out = out});
  EXPECT_EQ(made.checkpoint.file, run() + "/checkpoints/last.safetensors");
  EXPECT_EQ(made.checkpoint.text(), "last checkpoint (epoch 1)");
  EXPECT_THAT(read_file(out + "/model.json", 1 << 20),
              HasSubstr("\"checkpoint_name\": \"last\",\n    \"epoch\": 1"));
  EXPECT_EQ(made.dim, 16);
  EXPECT_EQ(made.bytes, fs::file_size(out + "/model.safetensors"));
  EXPECT_EQ(load_model(out, at::kCPU).net->dim(), 16);
  expect_error<ConfigError>([&] { export_run({.model = run(), .out = out}); },
                            "option 'overwrite' replaces it");
  expect_error<ConfigError>(
      [&] {
        export_run({.model = out, .out = dir_.file("x"), .checkpoint = "best"});
      },
      "option 'checkpoint' chooses one of a run's folder");
}

TEST_F(TrainedRun, IsReported) {
  Report report = make_report({.runs = {run()},
                               .names = {"first"},
                               .title = "A test",
                               .insight = {.queries = 3, .neighbours = 2}},
                              at::kCPU);
  EXPECT_EQ(report.title, "A test");
  EXPECT_EQ(report.made_by, "kith");
  ASSERT_EQ(report.runs.size(), 1U);
  EXPECT_EQ(report.runs[0].name, "first");
  EXPECT_EQ(report.insights[0].missing, "");
  ASSERT_EQ(report.groups.size(), 1U);
  EXPECT_EQ(report.groups[0].examples[0].queries.size(), 3U);
  const std::string page = dir_.file("pages/report.html");
  const size_t bytes = write_report(report, page);
  EXPECT_EQ(bytes, fs::file_size(page));
  EXPECT_THAT(read_file(page, 1 << 24), HasSubstr("A test"));

  report = make_report({.runs = {run()}, .network = false}, at::kCPU);
  EXPECT_EQ(report.insights[0].missing, "Left out on purpose.");
  EXPECT_TRUE(report.groups.empty());
}

TEST_F(TrainedRun, IsReportedOnce) {
  expect_error<ConfigError>(
      [] {
        make_report({.runs = {run(), run() + "/"}}, at::kCPU);
      },
      "are the same folder");
  expect_error<ConfigError>(
      [] {
        make_report({.runs = {run()}, .names = {"a", "b"}}, at::kCPU);
      },
      "option 'name' is given 2 times for 1 runs");
}

}  // namespace
}  // namespace kith
