// Dropout in a batch that goes through the network in chunks.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/train/multistage.h"
#include "tests/support/torch/loss_subjects.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// A convolution with dropout, which has no batch norm to hide behind.
class DropoutNet final : public Backbone {
 public:
  static constexpr const char* kSummary = "for tests: dropout";
  using Options = NoOptions;

  DropoutNet(const Options&, const BackboneInput& input)
      : conv_(
            register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(
                                        input.channels, 8, 3)))) {}

  Features run(const Tensor& images, const Mixing&) override {
    return {torch::dropout(conv_(images), 0.5, is_training()), {}};
  }
  int64_t features() const override { return 8; }

 private:
  torch::nn::Conv2d conv_;
};

KITH_REGISTER(backbone_registry(), "test_dropout", DropoutNet);

constexpr int64_t kImages = 24;

Tensor pictures() {
  return (random_normal({kImages, 16, 16, 1}, 3, at::kFloat) * 60 + 128)
      .clamp(0, 255)
      .to(torch::kByte);
}

std::unique_ptr<EmbeddingNet> make_net() {
  torch::manual_seed(5);
  auto net = std::make_unique<EmbeddingNet>(
      parse_config("{input: {size: 16, colour: grey, mean: [0.5], std: [0.5]}, "
                   "backbone: {name: "
                   "test_dropout}, head: {dim: 8}}",
                   "test"));
  net->train();
  return net;
}

/// The gradient of the convolution.
Tensor gradient(const LossSubject& subject, KeepGraphs keep) {
  const auto net = make_net();
  Multistage multistage(*net, c10::kCPU, 5, keep);
  const Tensor embeddings = multistage.embed(pictures(), 17);
  const Tensor labels = torch::arange(kImages, torch::kLong).remainder(6);
  const auto loss =
      make_loss_for("{name: " + subject.name + "}", embeddings, 6);
  (*loss)(input_for(*loss, embeddings, labels, subject.width)).value.backward();
  multistage.backward(embeddings.grad());
  return net->named_parameters()["backbone.conv.weight"].grad().clone();
}

class EveryLoss : public ::testing::TestWithParam<LossSubject> {};

TEST_P(EveryLoss, TheSecondPassDrawsWhatTheFirstDrew) {
  const Tensor one_pass = gradient(GetParam(), KeepGraphs::kAll);
  EXPECT_GT(one_pass.abs().max().item<double>(), 0);
  EXPECT_TRUE(same_bits(one_pass, gradient(GetParam(), KeepGraphs::kNone)));
}

std::vector<LossSubject> every_loss() {
  std::vector<LossSubject> subjects = first_loss_subjects();
  std::erase_if(subjects, [](const LossSubject& subject) {
    return subject.name.starts_with("test_");
  });
  return subjects;
}

INSTANTIATE_TEST_SUITE_P(Losses, EveryLoss, ::testing::ValuesIn(every_loss()));

TEST(Dropout, DropoutDiffersBetweenChunksAndSeeds) {
  const auto net = make_net();
  Multistage multistage(*net, c10::kCPU, kImages / 2, KeepGraphs::kNone);
  const Tensor half = pictures().slice(0, 0, kImages / 2);
  const Tensor twice = torch::cat({half, half});
  const Tensor first = multistage.embed(twice, 1);
  const auto halves = first.chunk(2);
  EXPECT_GT(max_difference(halves[0], halves[1]), 1e-3);
  EXPECT_GT(max_difference(first, multistage.embed(twice, 2)), 1e-3);
  EXPECT_TRUE(same_bits(first, multistage.embed(twice, 1)));
}

}  // namespace
}  // namespace kith
