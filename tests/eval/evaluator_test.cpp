#include "kith/eval/evaluator.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/metrics.h"
#include "kith/eval/protocols.h"
#include "kith/run/checkpoint.h"
#include "kith/run/run_folder.h"
#include "kith/train/experiment.h"
#include "kith/train/train_options.h"
#include "kith/use/evaluate_run.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

/// A run of one epoch, with its data and its network.
class EvaluatorTest : public ::testing::Test {
 protected:
  EvaluatorTest()
      : config_(tiny_config({"train.epochs=1"})),
        trained_(train_experiment(config_, dir_.file("run"), at::kCPU,
                                  /*resume=*/false, silent_progress())),
        data_(make_training_data(config_)),
        model_(load_model(dir_.file("run"), at::kCPU)) {}

  TempDir dir_;
  RunConfig config_;
  EvalResult trained_;
  std::unique_ptr<DataSet> data_;
  LoadedModel model_;
};

TEST_F(EvaluatorTest, GivesWhatTrainingAndKithEvalGive) {
  const Evaluator evaluator(
      *data_, evaluator_options(config_.eval, config_.train.workers));
  const EvalResult own = evaluator(*model_.net);
  const EvalReport report =
      evaluate_run({.model = dir_.file("run"), .scoring = {}}, at::kCPU).report;
  ASSERT_EQ(own.metrics.size(), trained_.metrics.size());
  ASSERT_EQ(own.metrics.size(), report.result.metrics.size());
  for (size_t m = 0; m < own.metrics.size(); ++m) {
    EXPECT_EQ(own.metrics[m].name, report.result.metrics[m].name);
    EXPECT_EQ(own.metrics[m].value, report.result.metrics[m].value);
    EXPECT_EQ(own.metrics[m].value, trained_.metrics[m].value);
  }
  EXPECT_EQ(own.protocol_line(), report.result.protocol_line());
  EXPECT_EQ(split_name(evaluator.split()), report.split);
}

TEST_F(EvaluatorTest, TakesPartsMadeInCpp) {
  const Evaluator by_name(*data_, {.metrics = {"recall_any@2"}});
  const Evaluator typed(
      *data_, {.own_protocol = std::make_shared<StandardProtocol>(),
               .own_metrics = {named("mine", RecallAnyMetric({.k = 2}))}});
  EXPECT_EQ(typed(*model_.net).at("mine"),
            by_name(*model_.net).at("recall_any@2"));
  EXPECT_EQ(typed.metrics().size(), 1u);
}

TEST_F(EvaluatorTest, RefusesAMetricThatIsNone) {
  expect_error<ConfigError>(
      [&] {
        Evaluator(*data_, {.own_metrics = {{"mine", "", nullptr}}});
      },
      "own_metrics", "'mine'", "null");
}

TEST_F(EvaluatorTest, ComputesTheUsualMetricsIfNoneAreNamed) {
  EXPECT_FALSE(Evaluator(*data_).metrics().empty());
  EXPECT_EQ(Evaluator(*data_, {.protocol = "inshop"}).metrics()[1].name,
            "recall_any@10");
}

TEST_F(EvaluatorTest, RefusesWhatItDoesNotKnow) {
  expect_error<ConfigError>(
      [&] { Evaluator(*data_, {.protocol = "standart"}); }, "standart");
  expect_error<ConfigError>([&] { Evaluator(*data_, {.metrics = {"mapp"}}); },
                            "mapp");
  expect_error<DataError>([&] { Evaluator(*data_, {.split = "tests"}); },
                          "tests");
}

}  // namespace
}  // namespace kith
