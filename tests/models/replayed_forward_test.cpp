#include "kith/models/replayed_forward.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

Tensor replayed_pixels(int64_t count, uint64_t seed) {
  return (random_normal({count, 32, 32, 1}, seed, at::kFloat) * 60 + 128)
      .clamp(0, 255)
      .to(torch::kByte);
}

std::unique_ptr<EmbeddingNet> replayed_net(const std::string& backbone,
                                           const std::string& more,
                                           c10::Device device) {
  torch::manual_seed(5);
  auto net = std::make_unique<EmbeddingNet>(parse_config(
      "{input: {size: 32, colour: grey, mean: [0.5], std: [0.5]}, backbone: " +
          backbone + ", head: {dim: 8}" + more + "}",
      "test"));
  net->use_device(device);
  net->apply_precision();
  net->eval();
  return net;
}

void expect_same_passes(EmbeddingNet& net, bool pooled) {
  const c10::Device device = net.device();
  ReplayedForward replayed(net, pooled, /*always=*/true);
  const torch::NoGradGuard no_grad;
  std::vector<std::pair<Tensor, Tensor>> made;
  uint64_t seed = 0;
  for (const int64_t count : {4, 4, 4, 4, 2, 2, 4, 2, 2, 4}) {
    const Tensor x = replayed_pixels(count, ++seed).to(device);
    const Tensor images = net.prepare(x);
    made.emplace_back(pooled ? net.pooled(images) : net.forward(images),
                      replayed(x));
  }
  EXPECT_EQ(replayed.recordings(), 2);
  // Later passes must not have changed what earlier ones made.
  for (size_t i = 0; i < made.size(); ++i) {
    EXPECT_TRUE(same_bits(made[i].first, made[i].second)) << i;
  }
}

const char* const kReplayed[] = {
    "{name: convnet, width: 4}", "{name: resnet18}",
    "{name: vit, patch: 8, width: 16, depth: 2, heads: 2, hidden: 16}",
    "{name: vit, patch: 8, width: 16, depth: 2, heads: 2, hidden: 16, "
    "positions: rotary}"};

TEST(ReplayedForward, HasTheSameBits) {
  for (const char* backbone : kReplayed) {
    SCOPED_TRACE(backbone);
    expect_same_passes(*replayed_net(backbone, "", c10::kCPU), false);
  }
  expect_same_passes(*replayed_net(kReplayed[0], "", c10::kCPU), true);
}

TEST(ReplayedForward, HasTheSameBitsOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  at::globalContext().setDeterministicCuDNN(true);
  const c10::Device gpu(c10::kCUDA, 0);
  for (const char* backbone : kReplayed) {
    for (const char* more :
         {"", ", precision: bf16", ", lora: {rank: 2}, precision: bf16"}) {
      SCOPED_TRACE(std::string(backbone) + more);
      expect_same_passes(*replayed_net(backbone, more, gpu), false);
    }
  }
  expect_same_passes(*replayed_net(kReplayed[0], "", gpu), true);
  at::globalContext().setDeterministicCuDNN(false);
}

TEST(ReplayedForward, IsTheUsualWayOnTheCpu) {
  const auto net = replayed_net(kReplayed[0], "", c10::kCPU);
  ReplayedForward replayed(*net);
  for (uint64_t i = 0; i < 5; ++i) replayed(replayed_pixels(2, i));
  EXPECT_EQ(replayed.recordings(), 0);
}

TEST(ReplayedForward, HasABoundForShapes) {
  const auto net = replayed_net(kReplayed[0], "", c10::kCPU);
  ReplayedForward replayed(*net, false, /*always=*/true);
  for (int64_t count = 1; count < 12; ++count) {
    for (uint64_t i = 0; i < 3; ++i) replayed(replayed_pixels(count, i));
  }
  EXPECT_EQ(replayed.recordings(), 8);
}

// What it does on the processor is not known.
TEST(ReplayedForward, LeavesANetworkOfTheUsersOwnAlone) {
  InputOptions input;
  input.size = 32;
  input.colour = "grey";
  EmbeddingNet net(
      input, OwnNetwork(torch::nn::Sequential(torch::nn::Flatten(),
                                              torch::nn::Linear(32 * 32, 4))));
  net.eval();
  ReplayedForward replayed(net, false, /*always=*/true);
  for (uint64_t i = 0; i < 5; ++i) replayed(replayed_pixels(2, i));
  EXPECT_EQ(replayed.recordings(), 0);
}

}  // namespace
}  // namespace kith
