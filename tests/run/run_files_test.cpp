// The files of a run's folder: what is written is read again, what earlier
// versions wrote is read too, and what is damaged is named.
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/run/eval_metrics.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_log.h"
#include "kith/run/run_metrics.h"
#include "kith/run/run_state.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

/// metrics.json of a run that an earlier version trained.
constexpr const char* kTrained = R"({
  "protocol": "standard",
  "split": "test",
  "last": {
    "epoch": 2,
    "step": 6,
    "queries": 40,
    "gallery": 40,
    "queries_without_positives": 0,
    "self": "excluded by index",
    "rules": "40 queries, gallery of 40, cosine similarity",
    "metrics": {
      "recall_any@1": 0.725,
      "rho": null,
      "spectrum": [
        0.75,
        0.25
      ]
    }
  },
  "best": {
    "metric": "recall_any@1",
    "value": 0.75,
    "epoch": 1,
    "step": 3,
    "chosen_on": "test"
  },
  "history": [
    {
      "epoch": 1,
      "step": 3,
      "parts": [
        {
          "name": "easy",
          "queries": 10,
          "gallery": 90,
          "queries_without_positives": 1,
          "self": "not in the gallery",
          "junk": 7
        },
        {
          "name": "hard",
          "queries": 10,
          "gallery": 90,
          "queries_without_positives": 0,
          "self": "not in the gallery",
          "draws": 10
        }
      ],
      "rules": "easy: 10 queries",
      "metrics": {
        "easy/map": 0.1,
        "hard/map": 1.0
      }
    },
    {
      "epoch": 2,
      "step": 6,
      "queries": 40,
      "gallery": 40,
      "queries_without_positives": 0,
      "self": "excluded by index",
      "rules": "40 queries, gallery of 40, cosine similarity",
      "metrics": {
        "recall_any@1": 0.725,
        "rho": null,
        "spectrum": [
          0.75,
          0.25
        ]
      }
    }
  ]
}
)";

/// The same of a cross validation.
constexpr const char* kFolds = R"({
  "protocol": "standard",
  "split": "test",
  "last": {
    "queries": 4,
    "gallery": 4,
    "queries_without_positives": 0,
    "self": "excluded by index",
    "rules": "4 queries",
    "metrics": {
      "separated/map": 0.5
    }
  },
  "folds": [
    {
      "map": 0.25
    },
    {
      "map": 0.75
    }
  ],
  "trained": [
    "a1",
    "b2"
  ],
  "history": []
}
)";

class RunFiles : public ::testing::Test {
 protected:
  std::string written(const std::string& name) const {
    return read_file(dir_.file(name), 1 << 20);
  }
  TempDir dir_;
};

TEST_F(RunFiles, LieWhereTheFolderSays) {
  const RunFolder run("runs/a");
  EXPECT_EQ(run.config(), "runs/a/config.yaml");
  EXPECT_EQ(run.log(), "runs/a/log.jsonl");
  EXPECT_EQ(run.metrics(), "runs/a/metrics.json");
  EXPECT_EQ(run.checkpoint(), "runs/a/checkpoints/last.safetensors");
  EXPECT_EQ(run.checkpoint("best"), "runs/a/checkpoints/best.safetensors");
  EXPECT_EQ(run.checkpoint(12), "runs/a/checkpoints/epoch-12.safetensors");
  EXPECT_TRUE(run.kept_epochs().empty());
  EXPECT_TRUE(run.eval_files().empty());
  EXPECT_EQ(run.selection().metrics(), "runs/a/selection/metrics.json");
  EXPECT_EQ(run.fold(2).path(), "runs/a/fold-2");
}

TEST_F(RunFiles, TellHowFarTheRunIs) {
  const RunFolder run(dir_.path());
  EXPECT_FALSE(run.holds_run());
  std::filesystem::create_directories(run.selection().path());
  run.selection().write_config(parse_config("{a: 1}", "test"));
  EXPECT_TRUE(run.holds_run());
  EXPECT_FALSE(run.is_finished());
  dir_.write("metrics.json", kTrained);
  EXPECT_TRUE(run.is_finished());
  EXPECT_FALSE(run.has_diverged());
  dir_.write("diverged.txt", "NaN\n");
  EXPECT_TRUE(run.has_diverged());
}

TEST_F(RunFiles, AreOfTheRunThatTheyLieIn) {
  std::filesystem::create_directories(dir_.file("checkpoints"));
  dir_.write("config.yaml", "a: 1\n");
  for (const char* name : {"", "/", "/checkpoints", "/config.yaml",
                           "/checkpoints/last.safetensors"}) {
    EXPECT_EQ(RunFolder::of(dir_.path() + name).path(), dir_.path()) << name;
  }
  EXPECT_EQ(RunFolder::of_checkpoint(dir_.file("checkpoints/x"))->path(),
            dir_.path());
  EXPECT_FALSE(RunFolder::of_checkpoint(dir_.file("config.yaml")));
}

TEST_F(RunFiles, AConfigurationIsReadAsItWasWritten) {
  const RunFolder run(dir_.path());
  const ConfigNode config =
      parse_config("{loss: {name: triplet, margin: 0.1}, k: [1, 2]}", "test");
  run.write_config(config);
  EXPECT_EQ(to_yaml(run.read_config()), to_yaml(config));
}

TEST_F(RunFiles, MetricsOfEarlierVersionsAreReadAndWrittenTheSame) {
  for (const char* text : {kTrained, kFolds}) {
    const RunMetrics metrics = read_run_metrics(dir_.write("old.json", text));
    write_run_metrics(dir_.file("new.json"), metrics);
    EXPECT_EQ(written("new.json"), text);
  }
}

TEST_F(RunFiles, MetricsSayWhatTheRunFound) {
  const RunMetrics metrics =
      read_run_metrics(dir_.write("metrics.json", kTrained));
  EXPECT_EQ(metrics.protocol, "standard");
  EXPECT_EQ(metrics.last->at("recall_any@1"), 0.725);
  EXPECT_TRUE(std::isnan(metrics.last->at("rho")));
  EXPECT_EQ(metrics.last->find("spectrum")->list,
            (std::vector<double>{0.75, 0.25}));
  EXPECT_EQ(metrics.last->find("map"), nullptr);
  EXPECT_EQ(metrics.best->epoch, 1);
  ASSERT_EQ(metrics.history.size(), 2u);
  EXPECT_EQ(metrics.history[0].found.parts[1].draws, 10);
  const RunMetrics folds = read_run_metrics(dir_.write("folds.json", kFolds));
  EXPECT_FALSE(folds.best);
  EXPECT_EQ(folds.trained, (std::vector<std::string>{"a1", "b2"}));
  EXPECT_EQ(folds.folds.at(1).at("map"), 0.75);
}

TEST_F(RunFiles, ARunWithoutEvaluationsHasNone) {
  write_run_metrics(dir_.file("metrics.json"), {"standard", "none"});
  const RunMetrics metrics = read_run_metrics(dir_.file("metrics.json"));
  EXPECT_EQ(metrics.split, "none");
  EXPECT_FALSE(metrics.last);
  EXPECT_FALSE(metrics.best);
  EXPECT_TRUE(metrics.history.empty());
}

TEST_F(RunFiles, WhatEndedARunAndItsTestAreReadAsTheyWereWritten) {
  const StoredEval eval{{}, "rules", {{"map", 0.5}}};
  RunMetrics metrics{"standard", "validation"};
  metrics.best = BestPoint{"map", 0.5, 1, 20};
  metrics.chosen_on = "validation";
  metrics.ended_by = "train.patience";
  metrics.test = TestPoint{1, 20, 40, eval};
  metrics.history = {{1, 20, eval}, {2, 40, eval}};
  write_run_metrics(dir_.file("metrics.json"), metrics);
  const RunMetrics read = read_run_metrics(dir_.file("metrics.json"));
  EXPECT_EQ(read.chosen_on, "validation");
  EXPECT_EQ(read.ended_by, "train.patience");
  EXPECT_EQ(read.test.value().epoch, 1);
  EXPECT_EQ(read.test.value().step, 20);
  EXPECT_EQ(read.test.value().after, 40);
  EXPECT_EQ(read.test.value().found.at("map"), 0.5);
}

TEST_F(RunFiles, TheBestIsTheFirstOfEqualOnes) {
  const auto point = [](int64_t epoch, double value) {
    return RunPoint{epoch, 10 * epoch, {{}, "", {{"map", value}}}};
  };
  const std::vector<RunPoint> history = {point(0, 0.5), point(1, 0.25),
                                         point(2, NAN), point(3, 0.375),
                                         point(4, 0.375)};
  EXPECT_EQ(best_point(history, "map", true).value().epoch, 0);
  EXPECT_EQ(best_point(history, "map", false).value().epoch, 3);
  EXPECT_FALSE(best_point(history, "recall_any@1", true));
}

TEST_F(RunFiles, TheStateOfARunOfAnEarlierVersionIsReadAndWrittenTheSame) {
  const std::string text =
      R"({"epoch":1,"step_in_epoch":2,"step":5,"threads":)" +
      std::to_string(torch::get_num_threads()) +
      R"(,"history":[{"epoch":1,"step":3,"queries":4,"gallery":4,)"
      R"("queries_without_positives":0,"self":"excluded by index",)"
      R"("rules":"4 queries","metrics":{"map":0.5}}],)"
      R"("best":{"metric":"map","value":0.5,"epoch":1,"step":3}})";
  RunState state;
  state.load(text, "last.safetensors");
  EXPECT_EQ(state.step_in_epoch, 2);
  EXPECT_EQ(state.best->value, 0.5);
  EXPECT_EQ(state.history.at(0).found.at("map"), 0.5);
  EXPECT_EQ(state.dump(), text);
  RunState none;
  none.load(RunState().dump(), "last.safetensors");
  EXPECT_TRUE(none.is_new());
  EXPECT_FALSE(none.best);
}

TEST_F(RunFiles, ALogIsReadAsItWasWritten) {
  StepRecord step;
  step.epoch = 1;
  step.step = 3;
  step.loss = 0.5;
  step.lr = 0.01;
  step.grad_norm = 2;
  step.images = 16;
  step.phases.data = {0.25, int64_t{3} << 20};
  const RunPoint point{2, 3, {{}, "rules", {{"map", 0.75}, {"rho", NAN}}}};
  {
    RunLog log(dir_.file("log.jsonl"), -1);
    log.write(step);
    log.write(point, "validation", 1.5);
    log.write(TestPoint{1, 2, 3, point.found}, 0.5);
  }
  const RunLogFile log = read_run_log(dir_.file("log.jsonl"));
  ASSERT_EQ(log.steps.size(), 1u);
  EXPECT_EQ(log.steps[0].epoch, 1);
  EXPECT_EQ(log.steps[0].step, 3);
  EXPECT_EQ(log.steps[0].loss, 0.5);
  EXPECT_EQ(log.steps[0].images, 16);
  EXPECT_EQ(log.phases.at(0), "data");
  EXPECT_EQ(log.steps[0].seconds.at(0), 0.25);
  EXPECT_EQ(log.steps[0].peak_mb.at(0), 3);
  ASSERT_EQ(log.evals.size(), 1u);
  EXPECT_EQ(log.evals[0].epoch, 2);
  EXPECT_EQ(log.evals[0].seconds, 1.5);
  EXPECT_EQ(log.evals[0].metrics.at("map"), 0.75);
  EXPECT_TRUE(std::isnan(log.evals[0].metrics.at("rho")));
  EXPECT_EQ(log.last.rules, "rules");
  EXPECT_EQ(log.split, "validation");
  EXPECT_EQ(log.test.value().epoch, 1);
  EXPECT_EQ(log.test.value().step, 2);
  EXPECT_EQ(log.test.value().after, 3);
  EXPECT_EQ(log.test.value().found.at("map"), 0.75);
}

TEST_F(RunFiles, EpochsAndEvaluationsAreListed) {
  for (const char* folder :
       {"checkpoints", "eval/a/deeper", "eval/b", "eval/c"}) {
    std::filesystem::create_directories(dir_.file(folder));
  }
  for (const char* name :
       {"epoch-12", "epoch-3", "epoch-x", "epoch-", "best"}) {
    dir_.write("checkpoints/" + std::string(name) + ".safetensors", "");
  }
  for (const char* name : {"", "b/", "a/", "a/deeper/"}) {
    dir_.write("eval/" + std::string(name) + "metrics.json", "");
  }
  dir_.write("eval/c/diagnostics.json", "");
  const RunFolder run(dir_.path());
  EXPECT_EQ(run.kept_epochs(), (std::vector<int64_t>{3, 12}));
  const std::string eval = run.eval();
  EXPECT_EQ(run.eval_files(),
            (std::vector<std::string>{eval + "/metrics.json",
                                      eval + "/a/metrics.json",
                                      eval + "/b/metrics.json"}));
}

TEST_F(RunFiles, EvaluationsOfDifferentThingsHaveDifferentFolders) {
  EvalReport report;
  report.protocol = "standard";
  report.split = "test";
  EXPECT_EQ(eval_folder_name(report), "test-standard");  // of no run
  report.checkpoint = {"r/checkpoints/best.safetensors", "best", 7, 70};
  EXPECT_EQ(eval_folder_name(report), "best-epoch-7-test-standard");
  EXPECT_EQ(evaluated_text(report),
            "best checkpoint (epoch 7), test split, protocol standard");
  report.checkpoint = {"r/checkpoints/last.safetensors", "last", 7, 71, true};
  EXPECT_EQ(eval_folder_name(report), "last-step-71-test-standard");
  EXPECT_EQ(report.checkpoint.text(), "last checkpoint (step 71 in epoch 8)");
  report.data = "/a/birds/list.csv";
  const std::string one = eval_folder_name(report);
  EXPECT_THAT(one,
              ::testing::StartsWith("last-step-71-test-standard-birds-list-"));
  report.data = "/b/birds/list.csv";
  EXPECT_NE(eval_folder_name(report), one);
  report.data = "/a/birds/../birds/list.csv";
  EXPECT_EQ(eval_folder_name(report), one);
  report.descriptor = "scales 1 0.7, flip";
  EXPECT_THAT(eval_folder_name(report),
              ::testing::StartsWith(one + "-scales-1-0.7-flip-"));
}

TEST_F(RunFiles, AnEvaluationIsReadAsItWasWritten) {
  EvalReport report;
  report.protocol = "standard";
  report.split = "test";
  report.checkpoint = {"r/checkpoints/best.safetensors", "best", 7, 70};
  report.data = "birds.csv";
  report.descriptor = "flip";
  report.result.parts.emplace_back().queries = 4;
  report.result.metrics.push_back({"map", 0.5, "of precisions"});
  report.result.metrics[0].interval = Interval{0.25, 0.75};
  report.result.metrics.push_back({"spectrum", NAN, "", {0.5, 0.5}});
  report.published = {{"map", 0.625}};
  report.published_source = "Table 1";
  report.corrupted.push_back({"blur", report.result});
  report.corrupted[0].result.metrics[0].value = 0.25;
  const std::string text =
      write_eval_metrics(dir_.file("metrics.json"), report);
  EXPECT_EQ(written("metrics.json"), text);
  const EvalMetrics read = read_eval_metrics(dir_.file("metrics.json"));
  EXPECT_EQ(read.protocol, "standard");
  EXPECT_EQ(read.split, "test");
  EXPECT_EQ(read.file, dir_.file("metrics.json"));
  EXPECT_EQ(read.checkpoint.name, "best");
  EXPECT_EQ(read.checkpoint.file, "checkpoints/best.safetensors");
  EXPECT_EQ(read.checkpoint.epoch, 7);
  EXPECT_EQ(read.checkpoint.step, 70);
  EXPECT_EQ(read.data, "birds.csv");
  EXPECT_EQ(read.descriptor, "flip");
  EXPECT_EQ(read.found.rules, report.result.protocol_line());
  EXPECT_EQ(read.found.at("map"), 0.5);
  EXPECT_EQ(read.published, report.published);
  EXPECT_EQ(read.published_source, "Table 1");
  ASSERT_EQ(read.corruptions.size(), 2u);
  EXPECT_EQ(read.corruptions[0].corruption, "none");
  EXPECT_EQ(read.corruptions[1].corruption, "blur");
  EXPECT_EQ(read.corruptions[1].metrics.at("map"), 0.25);
}

TEST_F(RunFiles, DamageIsADataErrorThatNamesTheFile) {
  const std::string whole = kTrained;
  const std::function<void(const std::string&)> readers[] = {
      [](const std::string& path) { read_run_metrics(path); },
      [](const std::string& path) { read_eval_metrics(path); },
      [](const std::string& path) {
        RunState().load(read_file(path, 1 << 20), path);
      }};
  for (const auto& read : readers) {
    for (const std::string& text :
         {std::string(), std::string("[]"), std::string("{\"last\": 3}"),
          std::string("{\"protocol\": \"standard\", \"history\": 1}"),
          whole.substr(0, whole.size() / 2), "x" + whole}) {
      const std::string path = dir_.write("damaged.json", text);
      expect_error<DataError>([&] { read(path); }, "damaged.json");
    }
  }
  dir_.write("config.yaml", "a: [1,\n");
  expect_error<ConfigError>([&] { RunFolder(dir_.path()).read_config(); },
                            "config.yaml");
}

}  // namespace
}  // namespace kith
