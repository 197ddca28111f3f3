// Training of a head on features that are computed once.

#include "kith/train/feature_bank.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/data/augmentations.h"
#include "kith/models/backbones.h"
#include "kith/train/trainer.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/loss_curve.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/tensors.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

MemorySet pictures_of_features() {
  std::vector<Item> items(96);
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].split = i >= 48 ? Split::kTest : Split::kTrain;
    items[i].label = static_cast<int64_t>(i / 8);
  }
  return MemorySet(items);
}

class FeatureBankTest : public ::testing::Test {
 protected:
  FeatureBankTest() {
    torch::manual_seed(1);
    net_ = EmbeddingNet::make<Convnet>({.width = 8},
                                       {.size = 16, .colour = "grey"},
                                       {.dim = 4, .layer_norm = "before"});
  }

  FeatureBank bank(int64_t views, Augmentations augmentations = {}) {
    return FeatureBank(
        {*net_, cache_, std::move(augmentations), views, 3, 5, {2, 2}, alone()},
        96);
  }

  /// What the network's pooling makes of a picture.
  Tensor pool_of(int64_t image, const Augmentations& augmentations = {},
                 Rng rng = Rng(0, Stream::kAugment)) {
    const torch::NoGradGuard no_grad;
    net_->eval();
    const Image picture =
        prepare_image(*cache_.load(image), net_->input(), augmentations, rng);
    const Tensor pixels =
        torch::tensor(
            std::vector<uint8_t>(picture.pixels.begin(), picture.pixels.end()),
            torch::kByte)
            .view({1, 16, 16, 1});
    return net_->pool(net_->prepare(pixels));
  }

  MemorySet data_ = pictures_of_features();
  ImageCache cache_{data_, 0};
  std::shared_ptr<EmbeddingNet> net_;
};

TEST_F(FeatureBankTest, OfOneViewIsThatOfTesting) {
  FeatureBank one = bank(1);
  one.fill({3, 7, 11, 40, 41, 42, 43}, silent_progress());
  const Tensor rows = one.train({42, 3}, 0, 5, 6);
  EXPECT_LE(max_difference(rows, torch::cat({pool_of(42), pool_of(3)})), 1e-6);
  EXPECT_EQ(one.bytes(), 7 * 8 * 4);
}

TEST_F(FeatureBankTest, EmbedsAsTheNetworkDoes) {
  FeatureBank one = bank(1);
  const std::vector<int64_t> images = {50, 8, 9, 80, 81, 82, 95};
  const Tensor expected = embed(*net_, data_, images, {}, silent_progress());
  EXPECT_LE(max_difference(one.embed(images, silent_progress()), expected),
            1e-6);
  // Some are there already, and the head is another one by now.
  const torch::NoGradGuard no_grad;
  net_->head().named_parameters()["linear.weight"].mul_(-1);
  const Tensor more = one.embed({1, 8, 50}, silent_progress());
  EXPECT_LE(max_difference(
                more, embed(*net_, data_, {1, 8, 50}, {}, silent_progress())),
            1e-6);
}

// Every view of an image is used, as places in an epoch say.
TEST_F(FeatureBankTest, DrawsAmongViews) {
  Augmentations augmentations;
  augmentations.push_back(
      std::make_unique<AffineAugmentation>(AffineOptions{.degrees = 40}));
  FeatureBank three = bank(3, std::move(augmentations));
  three.fill({0, 1, 2}, silent_progress());
  std::vector<int> seen(3);
  Tensor views[3];
  int64_t found = 0;
  for (int64_t step = 0; step < 60; ++step) {
    const Tensor row = three.train({1}, 2, 0, step);
    EXPECT_TRUE(torch::equal(row, three.train({1}, 2, 0, step)));
    int64_t view = 0;
    while (view < found && !torch::equal(views[view], row)) ++view;
    ASSERT_LT(view, 3);
    if (view == found) views[found++] = row;
    ++seen[static_cast<size_t>(view)];
  }
  for (const int count : seen) EXPECT_GT(count, 5);
  // A batch is made of rows that are drawn each for itself.
  const Tensor batch = three.train({0, 1}, 1, 0, 7);
  EXPECT_TRUE(torch::equal(batch[1], three.train({1}, 2, 0, 7)[0]));
}

std::vector<std::pair<int64_t, double>> losses_of(
    const std::vector<std::string>& changes) {
  const MemorySet data = pictures_of_features();
  const TempDir folder;
  std::vector<std::string> all = {"augment=[]", "model.bn=stats",
                                  "model.head.pooling=average",
                                  "schedule={name: constant}"};
  all.insert(all.end(), changes.begin(), changes.end());
  Trainer(tiny_config(all), data, folder.path(), c10::kCPU, silent_progress())
      .run();
  return loss_curve(folder.file("log.jsonl"));
}

// The whole network with a backbone that stays as it is does the same, slowly.
TEST(CachedFeatures, TrainAsAFrozenBackboneDoes) {
  const auto cached = losses_of({"train.cached_features=1"});
  const auto frozen = losses_of(
      {"train.head_epochs=3", "train.epochs=1", "train.stop_epoch=3"});
  ASSERT_EQ(cached.size(), 9u);
  ASSERT_EQ(frozen.size(), 9u);
  for (size_t i = 0; i < cached.size(); ++i) {
    EXPECT_EQ(cached[i].first, frozen[i].first);
    EXPECT_NEAR(cached[i].second, frozen[i].second, 1e-4) << i;
  }
  EXPECT_NE(cached.front().second, cached.back().second);
}

TEST(CachedFeatures, LeaveTheBackboneAlone) {
  const MemorySet data = pictures_of_features();
  const TempDir folder;
  const LogCapture log;
  Trainer trainer(tiny_config({"train.cached_features=2"}), data, folder.path(),
                  c10::kCPU, silent_progress());
  std::vector<Tensor> before;
  for (const auto& [name, tensor] : trainer.net().state()) {
    before.push_back(tensor.clone());
  }
  trainer.run();
  size_t i = 0;
  for (const auto& [name, tensor] : trainer.net().state()) {
    const bool trains = name.starts_with("head.linear");
    EXPECT_EQ(torch::equal(tensor, before[i++]), !trains) << name;
  }
  EXPECT_THAT(log.notes(),
              Contains(HasSubstr("only the head trains: features of 48 images, "
                                 "2 views of each")));
}

TEST(CachedFeatures, RefuseWhatNeedsTheBackbone) {
  const MemorySet data = pictures_of_features();
  const TempDir folder;
  const auto refuse = [&](const std::string& change, const auto&... parts) {
    expect_error<ConfigError>(
        [&] {
          Trainer(tiny_config({"train.cached_features=1", change}), data,
                  folder.path(), c10::kCPU, silent_progress());
        },
        "'train.cached_features'", parts...);
  };
  refuse("train.mixup=1", "'train.mixup'");
  refuse("train.head_epochs=1", "'train.head_epochs'");
  refuse("model.lora.rank=2", "'model.lora'");
  refuse("model.input.long_side=32", "'model.input.long_side'");
}

}  // namespace
}  // namespace kith
