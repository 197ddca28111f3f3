// Runs that were composed in C++: of registered parts, given by their options,
// they are runs like those of a configuration.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/file.h"
#include "kith/data/augmentations.h"
#include "kith/data/generated_sets.h"
#include "kith/losses/contrastive.h"
#include "kith/losses/recall_at_k.h"
#include "kith/losses/snr.h"
#include "kith/losses/triplet.h"
#include "kith/miners/random.h"
#include "kith/models/backbones.h"
#include "kith/report/make_report.h"
#include "kith/run/checkpoint.h"
#include "kith/run/run_folder.h"
#include "kith/run/run_log.h"
#include "kith/samplers/class_balanced.h"
#include "kith/train/experiment.h"
#include "kith/train/optimizers.h"
#include "kith/train/schedules.h"
#include "kith/use/evaluate_run.h"
#include "kith/use/make_index.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// tiny_config() in C++, with the weights that its seed gives.
TrainerParts composed_parts() {
  torch::manual_seed(Rng(0, Stream::kInit).next());
  return {.net = EmbeddingNet::make<Convnet>(
              {.width = 8}, {.size = 16, .colour = "grey"}, {.dim = 16}),
          .loss = part<RecallAtK>({.k = {1, 2}}),
          .sampler = part<ClassBalancedSampler>({.batch = 16}),
          .augment = {part<AffineAugmentation>()},
          .optimizer = part<AdamOptimizer>({.lr = 0.003}),
          .schedule = part<CosineSchedule>({.warmup_epochs = 0.5}),
          .train = {.epochs = 3, .clip_norm = 10, .workers = 2},
          .eval = {.every = 1},
          .log = {.examples = 1}};
}

GlyphsDataSet composed_data() {
  return GlyphsDataSet({.classes = 12, .per_class = 8});
}

void train_composed(TrainerParts parts, const DataSet& data,
                    const std::string& folder,
                    Progress& progress = silent_progress()) {
  Trainer(std::move(parts), data, folder, c10::kCPU, progress).run();
}

std::string run_metrics(const TempDir& folder) {
  return read_file(folder.file("metrics.json"), 1 << 24);
}

/// The section of a training that is not run.
std::string section_of(TrainerParts parts, const char* name,
                       const DataSet& data = composed_data()) {
  const TempDir folder;
  return to_yaml(complete_training(std::move(parts), data, folder.path())
                     .config.section(name));
}

std::string section_of(const std::vector<std::string>& changes,
                       const char* name) {
  return to_yaml(tiny_config(changes).section(name));
}

TEST(ComposedRun, IsEvaluatedAsThatOfTheConfiguration) {
  const TempDir composed, configured;
  train_composed(composed_parts(), composed_data(), composed.path());
  train_experiment(tiny_config(), configured.path(), c10::kCPU,
                   /*resume=*/false, silent_progress());
  EXPECT_EQ(run_metrics(composed), run_metrics(configured));
  const auto scores = [](const TempDir& run) {
    return evaluate_run({.model = run.path(), .scoring = {.bootstrap = 20}},
                        c10::kCPU)
        .report.result;
  };
  const EvalResult result = scores(composed);
  const EvalResult expected = scores(configured);
  ASSERT_EQ(result.metrics.size(), expected.metrics.size());
  for (const auto& metric : result.metrics) {
    EXPECT_EQ(metric.value, expected.at(metric.name)) << metric.name;
  }
}

TEST(ComposedRun, HasAReportAndAnIndex) {
  const TempDir folder;
  train_composed(composed_parts(), composed_data(), folder.path());
  const Report report = make_report(
      {.runs = {folder.path()}, .insight = {.queries = 2}}, c10::kCPU);
  EXPECT_EQ(report.insights.size(), 1);
  const MadeIndex index = make_index(
      {.source = {.source = folder.path()}, .out = folder.file("index.faiss")},
      c10::kCPU);
  EXPECT_EQ(index.items, 6 * 8);  // the classes of the test split
}

TEST(ComposedRun, GoesOnFromItsConfiguration) {
  const TempDir whole, stopped;
  train_composed(composed_parts(), composed_data(), whole.path());
  InterruptingProgress progress(16);
  EXPECT_THROW(train_composed(composed_parts(), composed_data(), stopped.path(),
                              progress),
               Interrupted);
  // In the second epoch.
  EXPECT_GT(read_run_log(RunFolder(stopped.path()).log()).steps.size(), 3u);
  const RunConfig config =
      complete_config(load_config(RunFolder(stopped.path()).config()));
  train_experiment(config, stopped.path(), c10::kCPU, /*resume=*/true,
                   silent_progress());
  EXPECT_EQ(run_metrics(stopped), run_metrics(whole));
}

TEST(ComposedRun, HasTheMinerThatItsLossIsPublishedWith) {
  const std::vector<std::string> yaml = {"loss={name: triplet}"};
  const TempDir composed, configured;
  TrainerParts parts = composed_parts();
  parts.loss = part<Triplet>();
  EXPECT_EQ(section_of(parts, "miner"), section_of(yaml, "miner"));
  train_composed(std::move(parts), composed_data(), composed.path());
  train_experiment(tiny_config(yaml), configured.path(), c10::kCPU,
                   /*resume=*/false, silent_progress());
  EXPECT_EQ(run_metrics(composed), run_metrics(configured));

  parts = composed_parts();
  parts.loss = std::make_shared<Triplet>();
  EXPECT_EQ(section_of(parts, "miner"), section_of(yaml, "miner"));
  parts.miner = part<RandomMiner>();
  EXPECT_THAT(section_of(parts, "miner"), HasSubstr("name: random"));
}

TEST(ComposedRun, HasNoMinerIfNoneIsWanted) {
  TrainerParts parts = composed_parts();
  parts.loss = part<Contrastive>();
  parts.miner = nullptr;
  EXPECT_EQ(section_of(parts, "miner"),
            section_of({"loss={name: contrastive}", "miner=null"}, "miner"));
  parts.loss = nullptr;
  expect_error<ConfigError>([&] { section_of(parts, "loss"); },
                            "'loss' must not be nullptr");
}

TEST(ComposedRun, ItsLossHasTheOptionsThatGoWithTheMiner) {
  TrainerParts parts = composed_parts();
  parts.loss = part<Snr>();
  EXPECT_EQ(section_of(parts, "loss"),
            section_of({"loss={name: snr}"}, "loss"));
  parts.loss = part<Snr>({.reg = 0.25});
  EXPECT_EQ(section_of(parts, "loss"),
            section_of({"loss={name: snr, reg: 0.25}"}, "loss"));
}

TEST(ComposedRun, HasTheProtocolOfItsData) {
  const LandmarksDataSet data({.classes = 4, .per_class = 6});
  EXPECT_EQ(section_of(composed_parts(), "eval", data),
            section_of({"data={name: landmarks}"}, "eval"));
}

TEST(ComposedRun, SaysWhichClassesAreHeldOut) {
  GlyphsDataSet data = composed_data();
  TrainerParts parts = composed_parts();
  parts.train.validation = 0.5;
  expect_error<ConfigError>([&] { section_of(parts, "train", data); },
                            "call its hold_out_classes()");
  data.hold_out_classes(0.5);
  const std::string expected =
      section_of({"train.validation=0.5", "train.final=false"}, "train");
  EXPECT_EQ(section_of(parts, "train", data), expected);
  EXPECT_EQ(section_of(composed_parts(), "train", data), expected);
}

TEST(ComposedRun, OfOwnDataSaysWhatItCannotSay) {
  const MemorySet data(composed_data().list().items);
  const TempDir folder;
  train_composed(composed_parts(), data, folder.path());
  const std::string expected =
      "the data set of this run was made in C++, and its configuration does "
      "not say of what: name other data, or, in the program that makes this "
      "one, read the network with load_model() and score it with Evaluator";
  expect_error<ConfigError>(
      [&] { evaluate_run({.model = folder.path()}, c10::kCPU); }, expected);
  expect_error<ConfigError>(
      [&] {
        make_index({.source = {.source = folder.path()},
                    .out = folder.file("index.faiss")},
                   c10::kCPU);
      },
      expected);
  const LogCapture log;
  make_report({.runs = {folder.path()}}, c10::kCPU);
  EXPECT_THAT(log.warnings(), Contains(HasSubstr(expected)));
  // As it says.
  const LoadedModel model = load_model(folder.path(), c10::kCPU);
  EXPECT_FALSE(Evaluator(data)(*model.net).metrics.empty());
}

struct OwnAugmentation final : Augmentation {
  using Options = NoOptions;
  explicit OwnAugmentation(const Options& = {}) {}
  Image apply(const Image& image, Rng&) const override { return image; }
};

TEST(ComposedRun, OfOwnPartsSaysWhichTheyAre) {
  const auto refused = [](TrainerParts parts) {
    const TempDir folder;
    train_composed(std::move(parts), composed_data(), folder.path());
    complete_config(load_config(RunFolder(folder.path()).config()));
  };
  TrainerParts parts = composed_parts();
  parts.augment = {part<OwnAugmentation>()};
  expect_error<ConfigError>([&] { refused(parts); },
                            "'augment' of this run was made in C++, and its "
                            "configuration does not say how (its class is "
                            "registered under no name)");
  parts = composed_parts();
  parts.loss = std::make_shared<RecallAtK>();
  expect_error<ConfigError>([&] { refused(parts); },
                            "'loss' of this run was made in C++, and its "
                            "configuration does not say how (an object was "
                            "given, and not part<Type>(options))");
}

}  // namespace
}  // namespace kith
