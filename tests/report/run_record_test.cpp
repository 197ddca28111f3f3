#include "kith/report/run_record.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/report/run_files.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kTwoEpochs =
    eval_line(0, "\"recall_any@1\":0.25,\"map_at_r\":0.1", "\"epoch\":0,") +
    step_line(1, 0, 0.9) + step_line(2, 0, 0.8) +
    eval_line(2, "\"recall_any@1\":0.75,\"map_at_r\":0.5") +
    step_line(3, 1, 0.7) + step_line(4, 1, 0.6) +
    eval_line(4,
              "\"recall_any@1\":0.5,\"map_at_r\":0.625,"
              "\"spectrum\":[0.5,0.5],\"rho@1\":null");

const std::string kMetrics =
    "{\"protocol\":\"standard\",\"split\":\"test\",\"last\":null,"
    "\"best\":null,\"history\":[]}";

std::vector<std::string> names_of(const RunRecord& run) {
  std::vector<std::string> names;
  for (const RecordedMetric& metric : run.metrics) names.push_back(metric.name);
  return names;
}

void expect_data_error(const std::string& folder, const std::string& text) {
  expect_error<DataError>([&] { read_run(folder); }, text);
}

TEST(RunRecord, ReadsStepsAndEvaluationsOfAFinishedRun) {
  const WrittenRun folder;
  folder.write("log.jsonl", kTwoEpochs);
  folder.write("metrics.json", kMetrics);
  const RunRecord run = read_run(folder.path());
  EXPECT_TRUE(run.finished);
  EXPECT_EQ(run.folder, folder.path());
  EXPECT_THAT(run.phases,
              ElementsAre("data", "forward", "loss", "backward", "optimizer"));
  ASSERT_EQ(run.steps.size(), 4u);
  EXPECT_EQ(run.steps[2].epoch, 1);
  EXPECT_EQ(run.steps[2].step, 3);
  EXPECT_EQ(run.steps[2].loss, 0.7);
  EXPECT_EQ(run.steps[2].lr, 0.002);
  EXPECT_EQ(run.steps[2].grad_norm, 1.5);
  EXPECT_EQ(run.steps[2].images, 400);
  EXPECT_THAT(run.steps[2].seconds, ElementsAre(0.01, 0.05, 0.02, 0.1, 0.02));
  EXPECT_THAT(run.steps[2].peak_mb, ElementsAre(300, 451, 454, 612, 612));
  ASSERT_EQ(run.evals.size(), 3u);
  // Of the second the epoch is not written: it follows from the steps.
  EXPECT_EQ(run.evals[0].epoch, 0);
  EXPECT_EQ(run.evals[1].epoch, 1);
  EXPECT_EQ(run.evals[2].epoch, 2);
  EXPECT_EQ(run.evals[1].seconds, 0.5);
  EXPECT_EQ(run.evals[1].metrics.at("map_at_r"), 0.5);
  EXPECT_EQ(run.protocol, "standard");
  EXPECT_EQ(run.split, "test");
  EXPECT_EQ(run.rules, "40 queries, gallery of 40");
  EXPECT_EQ(run.best,
            "recall_any@1 75.00% at epoch 1, chosen on the test split");
}

TEST(RunRecord, MetricsHaveUnitsDefinitionsAndWhatWasBefore) {
  const WrittenRun folder;
  folder.write("log.jsonl", kTwoEpochs);
  const RunRecord run = read_run(folder.path());
  EXPECT_FALSE(run.finished);
  EXPECT_THAT(names_of(run), ElementsAre("recall_any@1", "map_at_r", "rho@1"));
  EXPECT_EQ(run.metrics[0].value, 0.5);
  EXPECT_TRUE(run.metrics[0].is_share);
  EXPECT_THAT(run.metrics[0].definition, HasSubstr("share of queries"));
  EXPECT_EQ(run.metrics[0].before, 0.25);
  EXPECT_FALSE(run.metrics[0].published);
  EXPECT_TRUE(std::isnan(run.metrics[2].value));
  EXPECT_FALSE(run.metrics[2].is_share);
  EXPECT_FALSE(run.metrics[2].before);
}

TEST(RunRecord, UnknownMetricsArePlainNumbers) {
  const WrittenRun folder;
  folder.write("log.jsonl",
               eval_line(4, "\"medium/map\":0.5,\"novelty@3\":7.5"));
  const RunRecord run = read_run(folder.path());
  ASSERT_EQ(run.metrics.size(), 2u);
  EXPECT_TRUE(run.metrics[0].is_share);  // by the name without the part
  EXPECT_FALSE(run.metrics[1].is_share);
  EXPECT_EQ(run.metrics[1].definition, "");
  EXPECT_EQ(run.metrics[1].value, 7.5);
}

TEST(RunRecord, PublishedNumbersArePercentInTheConfiguration) {
  const WrittenRun folder(kRunConfig +
                          "published: {source: \"Table 1\", "
                          "recall_any@1: 63.8}\n");
  folder.write("log.jsonl", kTwoEpochs);
  const RunRecord run = read_run(folder.path());
  EXPECT_EQ(run.published_source, "Table 1");
  EXPECT_DOUBLE_EQ(run.metrics[0].published.value(), 0.638);
  EXPECT_FALSE(run.metrics[1].published);
}

TEST(RunRecord, APublishedNumberThatIsNoneIsNamed) {
  const WrittenRun folder(kRunConfig + "published: {map: high}\n");
  folder.write("log.jsonl", "");
  expect_data_error(folder.path(), "config.yaml:8: 'published.map' is not a");
}

TEST(RunRecord, EvaluationsAreInTheMetricsWhereTheLogIsGone) {
  const WrittenRun folder;
  folder.write("metrics.json",
               "{\"protocol\":\"standard\",\"split\":\"validation\",\"last\":" +
                   eval_object("\"recall_any@1\":0.75") +
                   ",\"history\":[{\"epoch\":4,\"step\":8,\"metrics\":"
                   "{\"recall_any@1\":0.75}}]}");
  const RunRecord run = read_run(folder.path());
  EXPECT_TRUE(run.steps.empty());
  EXPECT_EQ(run.evals.at(0).epoch, 4);
  EXPECT_EQ(run.metrics.at(0).value, 0.75);
  EXPECT_EQ(run.split, "validation");
}

std::string eval_file(double recall) {
  return "{\"recall_any@1\":" + std::to_string(recall) +
         ",\"nmi\":0.9,\"spectrum\":[1],\"protocol\":{\"name\":\"standard\","
         "\"split\":\"test\",\"rules\":\"40 queries, gallery of 40\","
         "\"intervals\":\"95%\"},\"intervals\":{\"recall_any@1\":[0.4,0.6],"
         "\"nmi\":[null,null]},"
         "\"published\":{\"nmi\":0.8,\"source\":\"Table 2\"},"
         "\"compressed\":{\"float32\":{\"bytes\":64,\"metrics\":{"
         "\"recall_any@1\":0.5}},\"int8\":{\"bytes\":16,\"metrics\":{"
         "\"recall_any@1\":0.4,\"intervals\":{\"recall_any@1\":[0.3,0.5]}}}},"
         "\"corruptions\":{\"cutout\":{\"recall_any@1\":0.1,\"nmi\":null}},"
         "\"mean_of_corrupted\":{\"recall_any@1\":0.1},"
         "\"reranked\":{\"by\":\"k_reciprocal\",\"recall_any@1\":0.625,"
         "\"intervals\":{\"recall_any@1\":[0.5,0.7]}}}";
}

TEST(RunRecord, EvalAddsMetricsOfTheSameNetworkAndCorruptions) {
  const WrittenRun folder;
  folder.write("log.jsonl", kTwoEpochs);
  folder.write("metrics.json", kMetrics);
  folder.write("eval/metrics.json", eval_file(0.5));
  const RunRecord run = read_run(folder.path());
  EXPECT_THAT(names_of(run),
              ElementsAre("recall_any@1", "map_at_r", "rho@1", "nmi"));
  EXPECT_EQ(run.published_source, "");  // of other numbers than the run's
  EXPECT_EQ(run.intervals_rule, "95%");
  ASSERT_TRUE(run.metrics[0].interval);
  EXPECT_EQ(run.metrics[0].interval->low, 0.4);
  EXPECT_EQ(run.metrics[0].interval->high, 0.6);
  EXPECT_FALSE(run.metrics[3].interval);
  EXPECT_EQ(run.reranked_by, "k_reciprocal");
  EXPECT_EQ(run.metrics[0].reranked, 0.625);
  EXPECT_FALSE(run.metrics[3].reranked);
  ASSERT_EQ(run.corruptions.size(), 2u);
  EXPECT_EQ(run.corruptions[0].corruption, "none");
  EXPECT_EQ(run.corruptions[0].metrics.at("nmi"), 0.9);
  EXPECT_EQ(run.corruptions[1].corruption, "cutout");
  EXPECT_TRUE(std::isnan(run.corruptions[1].metrics.at("nmi")));
  ASSERT_EQ(run.compressed.size(), 2u);
  EXPECT_EQ(run.compressed[0].form, "float32");
  EXPECT_EQ(run.compressed[1].bytes, 16);
  EXPECT_EQ(run.compressed[1].metrics.at("recall_any@1"), 0.4);
}

TEST(RunRecord, EvalOfAnotherNetworkAddsNoMetrics) {
  const WrittenRun folder;
  folder.write("log.jsonl", kTwoEpochs);
  folder.write("metrics.json", kMetrics);
  folder.write("eval/metrics.json", eval_file(0.75));
  const RunRecord run = read_run(folder.path());
  EXPECT_THAT(names_of(run), ElementsAre("recall_any@1", "map_at_r", "rho@1"));
  EXPECT_FALSE(run.metrics[0].interval);
  EXPECT_FALSE(run.metrics[0].reranked);
  EXPECT_EQ(run.reranked_by, "");
  EXPECT_EQ(run.intervals_rule, "");
}

TEST(RunRecord, KnowsAllEvaluationsItsOwnDataFirst) {
  const WrittenRun folder;
  folder.write("log.jsonl", kTwoEpochs);
  folder.write("metrics.json", kMetrics);
  const auto write = [&](const std::string& name, const std::string& facts) {
    std::string text = eval_file(0.75);
    folder.write("eval/" + name + "/metrics.json",
                 "{" + facts + "," + text.substr(1));
  };
  write("a", R"("data":"birds.csv","checkpoint":{"name":"last","epoch":1})");
  write("b", R"("data":"of the run","checkpoint":{"name":"best","epoch":1})");
  write("c", R"("data":"of the run","checkpoint":{"name":"last","epoch":2})");
  const RunRecord run = read_run(folder.path());
  ASSERT_EQ(run.evaluations.size(), 3u);
  EXPECT_EQ(run.evaluations[0].checkpoint.epoch, 2);
  EXPECT_EQ(run.evaluations[1].checkpoint.name, "best");
  EXPECT_EQ(run.evaluations[2].data, "birds.csv");
}

TEST(RunRecord, EvalStandsForARunThatWasNeverEvaluated) {
  const WrittenRun folder;
  folder.write("log.jsonl", step_line(1, 0, 0.5));
  folder.write("eval/metrics.json", eval_file(0.75));
  const RunRecord run = read_run(folder.path());
  EXPECT_THAT(names_of(run), ElementsAre("recall_any@1", "nmi"));
  EXPECT_EQ(run.split, "test");
  EXPECT_EQ(run.published_source, "Table 2");
  EXPECT_EQ(run.metrics[1].published, 0.8);
}

TEST(RunRecord, ALineThatWasCutOffIsLeftOut) {
  const WrittenRun folder;
  for (const char* rest :
       {"{\"kind\":\"st", "{", "{\"kind\":\"step\",\"step"}) {
    folder.write("log.jsonl", step_line(1, 0, 0.5) + rest);
    EXPECT_EQ(read_run(folder.path()).steps.size(), 1u) << rest;
  }
}

TEST(RunRecord, ABrokenLineIsNamed) {
  const WrittenRun folder;
  for (const std::string line :
       {"{\"kind\":\"st", "", "[]", "{}", "null", "{\"kind\":7}",
        "{\"kind\":\"step\"}", "{\"kind\":\"step\",\"step\":-1}",
        "{\"kind\":\"step\",\"step\":1e300}",
        "{\"kind\":\"step\",\"step\":1,\"loss\":\"x\"}",
        "{\"kind\":\"step\",\"step\":1,\"seconds\":{\"data\":[]}}",
        "{\"kind\":\"eval\",\"step\":1}",
        "{\"kind\":\"eval\",\"step\":1,\"metrics\":{\"metrics\":3}}",
        "\xff\xfe"}) {
    folder.write("log.jsonl",
                 step_line(1, 0, 0.5) + line + "\n" + step_line(2, 0, 0.5));
    expect_data_error(folder.path(), "log.jsonl:2: not a line of a run's log");
  }
}

TEST(RunRecord, ALineWithoutEndIsNotReadWhole) {
  const WrittenRun folder;
  folder.write("log.jsonl", "{}\n" + std::string(size_t{6} << 20, '['));
  expect_data_error(folder.path(), "log.jsonl:1: not a line");
  folder.write("log.jsonl",
               step_line(1, 0, 0.5) + std::string(size_t{6} << 20, '['));
  expect_data_error(folder.path(), "log.jsonl:2: a line of more than 4 MiB");
}

TEST(RunRecord, BrokenMetricsAreNamed) {
  const WrittenRun folder;
  folder.write("log.jsonl", "");
  for (const char* text : {"", "{", "[]", "{}", "{\"last\":3,\"history\":[]}",
                           "{\"last\":null,\"history\":[{}]}"}) {
    folder.write("metrics.json", text);
    expect_data_error(folder.path(), "metrics.json: not the metrics.json that");
  }
  folder.write("metrics.json", kMetrics);
  folder.write("eval/metrics.json", "{\"protocol\":[],\"corruptions\":3}");
  expect_data_error(folder.path(), "eval/metrics.json: not the metrics.json");
}

TEST(RunRecord, WhatIsNoRunIsTold) {
  const TempDir dir;
  expect_data_error(dir.file("gone"), "gone: no such folder");
  expect_data_error(dir.write("net.safetensors", ""), "a file; expected");
  expect_data_error(dir.path(), "expected config.yaml and log.jsonl there");
  dir.write("config.yaml", "a: 1\n");
  expect_data_error(dir.path(), "expected config.yaml and log.jsonl there");
}

TEST(RunRecord, TheRunsOfAStudyAreToBeNamed) {
  const TempDir dir;
  std::filesystem::create_directories(dir.file("loss=sap/seed=0"));
  dir.write("loss=sap/seed=0/config.yaml", "");
  expect_data_error(dir.path(), "name the runs themselves, such as: " +
                                    dir.file("loss=sap/seed=0"));
  const TempDir empty;
  empty.write("results.json", "{}");
  expect_data_error(empty.path(), "name the runs themselves");
}

TEST(RunNames, AreTheShortestTailsThatDiffer) {
  std::vector<RunRecord> runs(5);
  const char* folders[] = {"runs/a/run", "runs/b/run/", "/x/other",
                           "runs/c/../d", "/x/other"};
  for (size_t i = 0; i < runs.size(); ++i) runs[i].folder = folders[i];
  name_runs(runs);
  EXPECT_EQ(runs[0].name, "a/run");
  EXPECT_EQ(runs[1].name, "b/run");
  EXPECT_EQ(runs[2].name, "x/other");
  EXPECT_EQ(runs[3].name, "d");
  EXPECT_EQ(runs[4].name, "x/other (2)");
}

TEST(RunNames, OfOneRunIsItsFolder) {
  std::vector<RunRecord> runs(1);
  runs[0].folder = "/tmp/demo/";
  name_runs(runs);
  EXPECT_EQ(runs[0].name, "demo");
  runs[0].folder = "/";
  name_runs(runs);
  EXPECT_EQ(runs[0].name, "/");
}

}  // namespace
}  // namespace kith
