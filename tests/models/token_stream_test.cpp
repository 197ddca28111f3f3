#include "kith/models/token_stream.h"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/torch_compat.h"
#include "kith/models/embedding_net.h"
#include "kith/models/mixup.h"
#include "kith/models/vision_transformer.h"
#include "tests/support/log_capture.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using ::testing::HasSubstr;

VitOptions streamed() {
  return {.patch = 4, .width = 16, .depth = 4, .heads = 2, .hidden = 24};
}

std::vector<VitOptions> kinds_of_vit() {
  std::vector<VitOptions> kinds = {streamed()};
  const auto add = [&](const std::function<void(VitOptions&)>& change) {
    kinds.push_back(streamed());
    change(kinds.back());
  };
  for (const char* name : {"gelu_tanh", "quick_gelu", "relu6"}) {
    add([&](VitOptions& o) { o.activation = name; });
  }
  add([](VitOptions& o) {
    o.mlp = "swiglu";
    o.layer_scale = 0.5;
    o.registers = 2;
    o.prefix_positions = false;
    o.drop_path = 0.4;
  });
  add([](VitOptions& o) {
    o.positions = "rotary";
    o.qkv_bias = "no_key";
    o.drop_path = 0.4;
  });
  add([](VitOptions& o) {
    o.qkv_bias = "none";
    o.class_token = false;
    o.token = "attention_pool";
  });
  add([](VitOptions& o) {
    o.projection = 5;
    o.pre_norm = true;
  });
  add([](VitOptions& o) { o.depth = 1; });
  return kinds;
}

/// Parameters that are not what they start as: biases are no zeros.
void draw_parameters(torch::nn::Module& net) {
  const torch::NoGradGuard no_grad;
  uint64_t seed = 1;
  for (Tensor& p : net.parameters()) {
    p.add_(0.2 * random_normal(p.sizes().vec(), ++seed).to(p.scalar_type()));
  }
}

/// Map, token, and gradients of a weighted sum of them.
std::vector<Tensor> run_vit(VisionTransformer& net, const Tensor& images,
                            const Mixing& mixing = {}) {
  torch::manual_seed(5);
  const Features out = net.forward(images, mixing);
  std::vector<Tensor> all = {out.map.detach()};
  const auto weighted = [](const Tensor& x, uint64_t seed) {
    return (x * random_normal(x.sizes().vec(), seed).to(x.device())).sum();
  };
  Tensor loss = weighted(out.map, 6);
  if (out.token.defined()) {
    all.push_back(out.token.detach());
    loss = loss + weighted(out.token, 7);
  }
  net.zero_grad();
  loss.backward();
  for (const Tensor& p : net.parameters()) {
    all.push_back(p.grad().defined() ? p.grad().clone() : torch::zeros_like(p));
  }
  return all;
}

void expect_equal_runs(const std::vector<Tensor>& got,
                       const std::vector<Tensor>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].scalar_type(), expected[i].scalar_type()) << i;
    const double size = expected[i].abs().max().item<double>();
    EXPECT_LE(max_difference(got[i], expected[i]), tolerance * (1 + size)) << i;
  }
}

TEST(TokenStream, GivesWhatTheLayersGive) {
  int64_t kind = 0;
  for (const VitOptions& options : kinds_of_vit()) {
    SCOPED_TRACE(kind++);
    VisionTransformer net(options, {3, 12, "train"});
    draw_parameters(net);
    net.to(torch::kDouble);
    const Tensor images = random_normal({3, 3, 12, 12}, 2);
    for (const bool training : {true, false}) {
      net.train(training);
      const std::vector<Tensor> expected = run_vit(net, images);
      const ForcedStream forced(torch::kDouble);
      const std::vector<Tensor> got = run_vit(net, images);
      expect_equal_runs(got, expected, 1e-10);
      const torch::NoGradGuard no_grad;
      torch::manual_seed(5);
      EXPECT_LE(max_difference(net.forward(images).map, got[0]), 1e-12);
    }
  }
}

TEST(TokenStream, MixesWhatTheLayersMix) {
  VisionTransformer net(streamed(), {3, 12, "train"});
  draw_parameters(net);
  net.to(torch::kDouble);
  const Tensor images = random_normal({3, 3, 12, 12}, 2);
  const Tensor partner = torch::tensor({2, 0, 1});
  for (const int64_t point : {0, 1, 2}) {
    const Mixing mixing = {0.3, point, partner};
    const std::vector<Tensor> expected = run_vit(net, images, mixing);
    const ForcedStream forced(torch::kDouble);
    expect_equal_runs(run_vit(net, images, mixing), expected, 1e-10);
  }
}

TEST(TokenStream, ComputesProductsInBfloat16) {
  VisionTransformer net(streamed(), {3, 12, "train"});
  const Tensor images = random_normal({3, 3, 12, 12}, 2, at::kFloat);
  const std::vector<Tensor> expected = run_vit(net, images);
  const ForcedStream forced(torch::kBFloat16);
  const std::vector<Tensor> got = run_vit(net, images);
  EXPECT_GT(max_difference(got[0], expected[0]), 1e-6);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].scalar_type(), at::kFloat);
    EXPECT_LE((got[i] - expected[i]).norm().item<double>(),
              3e-2 * expected[i].norm().item<double>() + 1e-3)
        << i;
  }
}

// Weights of adapters take the place of a layer's own while it runs.
TEST(TokenStream, TrainsAdapters) {
  EmbeddingNet net(complete_model(
      parse_config("{backbone: {name: vit, patch: 4, width: 16, depth: 2, "
                   "heads: 2, hidden: 24}, input: {size: 8, mean: [0, 0, 0], "
                   "std: [1, 1, 1], colour: rgb}, head: {pooling: "
                   "class_token}, lora: {rank: 2}}",
                   "test")));
  draw_parameters(net);
  const Tensor images = random_normal({3, 3, 8, 8}, 2, at::kFloat);
  const auto run = [&] {
    net.zero_grad();
    const Tensor x = net.forward(images);
    (x * random_normal(x.sizes().vec(), 3, at::kFloat)).sum().backward();
    std::vector<Tensor> all = {x.detach()};
    for (const auto& [name, tensor] : net.trained()) {
      all.push_back(tensor.grad().clone());
    }
    return all;
  };
  const std::vector<Tensor> expected = run();
  const ForcedStream forced(torch::kFloat);
  expect_equal_runs(run(), expected, 1e-4);
}

TEST(TokenStream, LeavesWhatItDoesNotKnow) {
  const Tensor tokens = torch::zeros({1, 2, 8});
  EXPECT_FALSE(stream_type(tokens));
  {
    const ForcedStream forced(torch::kBFloat16);
    EXPECT_EQ(stream_type(tokens), torch::kBFloat16);
    EXPECT_FALSE(stream_type(tokens.to(torch::kDouble)));
    EXPECT_FALSE(stream_type(tokens.to(torch::kBFloat16)));
    {
      const ForcedStream inner(torch::kFloat);
      EXPECT_EQ(stream_type(tokens), torch::kFloat);
    }
    EXPECT_EQ(stream_type(tokens), torch::kBFloat16);
  }
  EXPECT_FALSE(stream_type(tokens));

  // Dropout between the products is of LibTorch's layers, and so are widths
  // that are no multiple of 8.
  VitOptions options = streamed();
  options.dropout = 0.3;
  VitOptions narrow = streamed();
  narrow.width = 12;
  const LogCapture log;
  for (const VitOptions& o : {options, narrow}) {
    VisionTransformer net(o, {3, 12, "train"});
    const Tensor images = random_normal({3, 3, 12, 12}, 2, at::kFloat);
    const std::vector<Tensor> expected = run_vit(net, images);
    const ForcedStream forced(torch::kFloat);
    const std::vector<Tensor> got = run_vit(net, images);
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(same_bits(got[i], expected[i])) << i;
    }
    run_vit(net, images);  // says nothing again
  }
  ASSERT_EQ(log.notes().size(), 2u);
  EXPECT_THAT(log.notes()[0], HasSubstr("'model.backbone.dropout'"));
  EXPECT_THAT(log.notes()[1], HasSubstr("'model.backbone.width', 12"));
}

// What bfloat16 rounds off depends on the network: ReLU6 turns on and off. The
// stream may be as far from float32 as LibTorch's layers are, give or take.
TEST(TokenStream, CudaInBfloat16IsAsNearToFloat32AsLayersAre) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  int64_t kind = 0;
  for (const VitOptions& options : kinds_of_vit()) {
    SCOPED_TRACE(kind++);
    VisionTransformer net(options, {3, 12, "train"});
    net.eval();
    const Tensor images = random_normal({3, 3, 12, 12}, 2, at::kFloat);
    const std::vector<Tensor> expected = run_vit(net, images);
    net.to(at::kCUDA);
    const auto run = [&] {
      const Autocast autocast(true);
      std::vector<Tensor> here;
      for (const Tensor& t : run_vit(net, images.cuda())) {
        here.push_back(t.cpu());
      }
      return here;
    };
    const std::vector<Tensor> got = run(), again = run();
    std::vector<Tensor> layers;
    {
      // There are no kernels for it.
      const ForcedStream none(at::kDouble);
      layers = run();
    }
    for (size_t i = 0; i < got.size(); ++i) {
      const auto error = [&](const Tensor& t) {
        return (t - expected[i]).norm().item<double>();
      };
      EXPECT_TRUE(same_bits(got[i], again[i])) << i;
      EXPECT_LE(
          error(got[i]),
          2 * error(layers[i]) + 1e-2 * (expected[i].norm().item<double>() + 1))
          << i;
    }
  }
}

}  // namespace
}  // namespace kith
