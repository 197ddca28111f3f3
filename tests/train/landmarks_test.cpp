// The landmark setting from end to end: pictures of any shape, a whitening to
// start from, RS@k with SiMix, a test at several scales with lists of answers.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/eval/matching_pairs.h"
#include "kith/ops/pairwise.h"
#include "kith/run/checkpoint.h"
#include "kith/train/start_weights.h"
#include "kith/train/trainer.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

RunConfig landmark_config(const std::vector<std::string>& changes = {}) {
  ConfigNode config = parse_config(R"(
data: {name: landmarks, classes: 20, per_class: 8}
sampler: {name: class_balanced, batch: 32}
model:
  input: {long_side: 48, multiple: 16, colour: rgb,
          mean: [0.5, 0.5, 0.5], std: [0.25, 0.25, 0.25]}
  backbone: {name: convnet, width: 16}
  head: {dim: 16, pooling: gem, l2_before: true, init: whitening}
loss: {name: recall_at_k, k: [1, 2, 4], t2: 0.05, simix: true}
optimizer: {name: adam, lr: 0.01}
train: {epochs: 20, steps: 24, sub_batch: 16, workers: 2}
eval:
  protocol: revisited
  scales: [1, 0.70710678]
  best: medium/map_trapezoid
)",
                                   "landmarks.yaml");
  for (const std::string& change : changes) apply_override(config, change);
  return complete_config(config);
}

double medium_map(const EvalResult& result) {
  return result.at("medium/map_trapezoid");
}

TEST(LandmarkRun, LearnsFromPicturesOfAnyShape) {
  const RunConfig config = landmark_config();
  const auto data = make_data_set(config.section("data"));
  const TempDir folder;
  Trainer trainer(config, *data, folder.path(), c10::kCPU, silent_progress());
  const double before = medium_map(trainer.evaluate_now());
  const EvalResult result = trainer.run();
  EXPECT_EQ(trainer.steps_done(), 24);
  EXPECT_EQ(result.parts.size(), 3u);
  EXPECT_GT(medium_map(result), before + 0.1);
}

TEST(LandmarkRun, EndsInTheSameBytesAfterAStop) {
  const RunConfig config = landmark_config(
      {"train.steps=3", "train.checkpoint_steps=1", "data.classes=12",
       "data.per_class=5", "sampler.batch=12", "train.sub_batch=4",
       "model.head.dim=8"});
  const auto data = make_data_set(config.section("data"));
  const auto run = [&](const TempDir& folder, int at) {
    InterruptingProgress progress(at);
    Trainer trainer(config, *data, folder.path(), c10::kCPU, progress);
    trainer.resume();
    try {
      trainer.run();
    } catch (const Interrupted&) {
      return progress.calls();
    }
    return -progress.calls();
  };
  const auto bytes = [](const TempDir& folder) {
    return read_file(folder.file("metrics.json"), 1 << 20) +
           read_file(folder.file("checkpoints/last.safetensors"), 1 << 24);
  };
  const TempDir whole;
  const int calls = -run(whole, -1);
  ASSERT_GT(calls, 8);
  for (int at = 1; at < calls; at += 2) {
    const TempDir folder;
    ASSERT_GT(run(folder, at), 0);
    ASSERT_LT(run(folder, -1), 0);
    EXPECT_TRUE(bytes(folder) == bytes(whole)) << "stopped at call " << at;
  }
}

TEST(LandmarkRun, MayBeTestedElsewhere) {
  const RunConfig config =
      landmark_config({"eval.split=none", "train.steps=2"});
  const auto data = make_data_set(config.section("data"));
  const TempDir folder;
  Trainer trainer(config, *data, folder.path(), c10::kCPU, silent_progress());
  EXPECT_TRUE(trainer.run().metrics.empty());
  const std::string json = read_file(folder.file("metrics.json"), 1 << 20);
  EXPECT_NE(json.find("\"split\": \"none\""), std::string::npos) << json;
  const LoadedModel model = load_model(folder.path(), c10::kCPU);
  EXPECT_EQ(model.net->dim(), 16);
  EXPECT_EQ(eval_split(config.eval, data->list()), Split::kTest);
}

TEST(LandmarkRun, CanBeEstimated) {
  const RunConfig config = landmark_config({"train.steps=7"});
  const auto data = make_data_set(config.section("data"));
  const DryRun run =
      Trainer(config, *data, "/nowhere", c10::kCPU, silent_progress())
          .dry_run();
  EXPECT_EQ(run.steps, 7);
  EXPECT_EQ(run.evaluations, 2);  // before and after
  EXPECT_GE(run.chunks, 3);
  const RunConfig none = landmark_config({"eval.split=none"});
  EXPECT_EQ(Trainer(none, *data, "/nowhere", c10::kCPU, silent_progress())
                .dry_run()
                .evaluations,
            0);
}

TEST(LandmarkRun, RefusesWhatNeedsOneSize) {
  const auto refused = [](const std::vector<std::string>& changes,
                          const std::string& a, const std::string& b) {
    expect_error<ConfigError>(
        [&] {
          const RunConfig config = landmark_config(changes);
          const auto data = make_data_set(config.section("data"));
          Trainer(config, *data, "/nowhere", c10::kCPU, silent_progress());
        },
        a, b);
  };
  refused({"train.mixup=2"}, "train.mixup", "model.input.long_side");
  refused({"model.backbone={name: mlp}", "model.input.size=16"},
          "model.input.long_side", "mlp");
  refused({"train.validation=0.5", "eval.every=1"}, "train.validation",
          "train.steps");
  refused({"train.validation=0.5", "eval.every=1", "train.steps=0",
           "eval.split=none"},
          "train.validation", "eval.split");
}

class WhitenHead : public ::testing::Test {
 protected:
  void whiten(const std::string& head, uint64_t seed = 0,
              const std::string& init = "whitening") {
    net_ = std::make_unique<EmbeddingNet>(complete_model(parse_config(
        "{input: {long_side: 32, multiple: 16}, backbone: {name: convnet, "
        "width: 8}, head: {l2_before: true, init: " +
            init + ", " + head + "}}",
        "test")));
    whiten_head(*net_, *data_, data_->list().of_split(Split::kTrain), seed,
                EmbedOptions{16, {2, 2}}, silent_progress());
  }

  Tensor weight() const {
    return net_->named_parameters()["head.linear.weight"].clone();
  }

  std::unique_ptr<DataSet> data_ = make_data_set(
      parse_config("{name: landmarks, classes: 10, per_class: 10}", "test"));
  std::unique_ptr<EmbeddingNet> net_;
};

TEST_F(WhitenHead, MakesEmbeddingsOfUnitCovariance) {
  torch::manual_seed(1);
  whiten("dim: 6, l2: false");
  const Tensor x = embed(*net_, *data_, data_->list().of_split(Split::kTrain),
                         EmbedOptions{16, {2, 2}}, silent_progress())
                       .to(torch::kDouble);
  EXPECT_LE(max_difference(x.mean(0), torch::zeros({6})), 1e-3);
  EXPECT_LE(max_difference(x.t().mm(x) / x.size(0), torch::eye(6)), 1e-2);
}

TEST_F(WhitenHead, DrawsItsImagesByTheSeed) {
  torch::manual_seed(1);
  whiten("dim: 6, whiten_images: 20");
  const Tensor first = weight();
  torch::manual_seed(1);
  whiten("dim: 6, whiten_images: 20");
  EXPECT_TRUE(same_bits(weight(), first));
  torch::manual_seed(1);
  whiten("dim: 6, whiten_images: 20", 5);
  EXPECT_GT(max_difference(weight(), first), 1e-3);
}

TEST_F(WhitenHead, MakesPairsDifferAlikeInAllDirections) {
  const LogCapture log;
  torch::manual_seed(1);
  whiten("dim: 6, l2: false", 0, "pair_whitening");
  EXPECT_THAT(log.notes(),
              ::testing::Contains(::testing::HasSubstr("matching pairs")));
  Rng rng(0, Stream::kInit, {1});
  const MatchingPairs pairs = draw_matching_pairs(
      data_->list(), data_->list().of_split(Split::kTrain), 10'000, rng);
  const Tensor x = embed(*net_, *data_, pairs.images, EmbedOptions{16, {2, 2}},
                         silent_progress())
                       .to(torch::kDouble);
  EXPECT_LE(max_difference(x.mean(0), torch::zeros({6})), 1e-2);
  const Tensor d = x.index_select(0, pairs.rows.select(1, 0)) -
                   x.index_select(0, pairs.rows.select(1, 1));
  EXPECT_LE(max_difference(d.t().mm(d) / d.size(0), torch::eye(6)), 2e-2);
}

TEST_F(WhitenHead, NeedsMoreImagesThanDimensions) {
  expect_error<ConfigError>([&] { whiten("dim: 8, whiten_images: 8"); },
                            "model.head.dim", "model.head.whiten_images");
}

}  // namespace
}  // namespace kith
