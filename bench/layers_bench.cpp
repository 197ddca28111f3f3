// Layers that are fused on a GPU in bfloat16, beside the same by operations of
// LibTorch: forward and backward, BM_layer/<layer>/fused and .../alone. Without
// a GPU there are none.
#include <functional>
#include <memory>

#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "kith/core/torch_compat.h"
#include "kith/models/conv_norm.h"
#include "kith/models/head.h"
#include "kith/ops/add_norm.h"
#include "kith/ops/bias_activation.h"
#include "kith/ops/fused_way.h"
#include "kith/ops/pairwise.h"
#include "kith/ops/pooling.h"
#include "kith/ops/token_products.h"

namespace {

using kith::Tensor;
using Layer = std::function<Tensor()>;

const at::TensorOptions kMaps =
    at::TensorOptions().device(at::kCUDA).dtype(at::kBFloat16);
const at::TensorOptions kWeights =
    at::TensorOptions().device(at::kCUDA).dtype(at::kFloat);

Tensor random_map(int64_t n, int64_t channels, int64_t side) {
  return torch::randn({n, channels, side, side}, kMaps)
      .contiguous(at::MemoryFormat::ChannelsLast)
      .requires_grad_();
}

Tensor random_weight(at::IntArrayRef sizes) {
  return torch::randn(sizes, kWeights).requires_grad_();
}

void bench_layer(benchmark::State& state, const std::function<Layer()>& make,
                 bool fused) {
  const Layer layer = make();
  const kith::Autocast bf16(true);
  std::unique_ptr<kith::LayersAlone> alone;
  if (!fused) alone = std::make_unique<kith::LayersAlone>();
  const auto step = [&] {
    const Tensor y = layer();
    y.backward(torch::ones_like(y));
  };
  constexpr int kWarm = 3;
  for (int i = 0; i < kWarm; ++i) step();
  torch::cuda::synchronize();
  for (auto _ : state) {
    step();
    torch::cuda::synchronize();
  }
}

/// A layer of a convolutional network; with `residual` it adds its input.
Layer conv(kith::ConvShape shape, kith::Activation activation, int64_t side,
           bool residual = false) {
  auto owner = std::make_shared<torch::nn::Module>();
  auto layer =
      std::make_shared<kith::ConvNorm>(*owner, "conv", "norm", shape, "stats");
  owner->to(at::kCUDA);
  owner->eval();
  const Tensor x = random_map(128, shape.in, side);
  return [=] { return (*layer)(x, activation, residual ? x : Tensor()); };
}

Layer gem() {
  const Tensor x = random_map(128, 1280, 14);
  const Tensor p = torch::full({1}, 3.0, kWeights).requires_grad_();
  return [=] {
    if (kith::can_pool(x)) return kith::gem_pool(x, p, 1e-6);
    return x.to(at::kFloat)
        .clamp_min(1e-6)
        .pow(p)
        .mean({2, 3})
        .pow(p.reciprocal());
  };
}

/// 512 numbers for each of 400 pictures, made unit vectors.
Layer unit_rows() {
  const Tensor x = random_weight({400, 512});
  return [=] { return kith::normalize_rows(x); };
}

/// All that the head has to know of a backbone.
class NoBackbone final : public kith::Backbone {
 public:
  kith::Features run(const Tensor& images, const kith::Mixing&) override {
    return {images, {}};
  }
  int64_t features() const override { return 1280; }
};

/// GeM, LayerNorm, linear layer and L2 of 400 pictures.
Layer head() {
  const kith::HeadOptions options = {.dim = 512, .layer_norm = "before"};
  auto head = std::make_shared<kith::Head>(options, NoBackbone());
  head->to(at::kCUDA);
  const Tensor x = random_map(400, 1280, 7);
  return [=] {
    const kith::Autocast off(false);
    return head->forward({x, {}});
  };
}

Layer max_pool() {
  const Tensor x = random_map(128, 64, 112);
  return [=] {
    return kith::can_pool(x) ? kith::max_pool_3x3(x)
                             : torch::max_pool2d(x, 3, 2, 1);
  };
}

// A vision transformer of width 768 on 197 tokens.
constexpr int64_t kWidth = 768;
const auto is_fused = [](const Tensor& x) { return kith::takes_fused_way(x); };

Layer norm_of_sum() {
  const Tensor x = random_weight({128, 197, kWidth});
  const Tensor a = torch::randn({128, 197, kWidth}, kMaps).requires_grad_();
  const kith::TokenBranch branch{a, random_weight({kWidth}), {}, {}};
  const kith::TokenNorm norm{random_weight({kWidth}), random_weight({kWidth})};
  return [=] {
    if (is_fused(a)) {
      const auto [y, z] = kith::add_norm(x, branch, norm, at::kBFloat16);
      return y + z;
    }
    const Tensor y = kith::add_branch(x, branch);
    return y + torch::layer_norm(y, {kWidth}, norm.gamma, norm.beta, norm.eps)
                   .to(at::kBFloat16);
  };
}

Layer gelu() {
  const Tensor u = torch::randn({128, 197, 4 * kWidth}, kMaps).requires_grad_();
  const Tensor bias = random_weight({4 * kWidth});
  return [=] {
    constexpr auto kGelu = kith::TokenActivation::kGelu;
    if (is_fused(u)) return kith::bias_activation(u, bias, kGelu);
    return kith::activated(u + bias.to(at::kBFloat16), kGelu);
  };
}

Layer heads() {
  constexpr int64_t kHeads = 12;
  const Tensor x = torch::randn({128, 197, kWidth}, kMaps).requires_grad_();
  const Tensor weight = random_weight({3 * kWidth, kWidth});
  const Tensor bias = random_weight({3 * kWidth});
  return [=] {
    if (is_fused(x)) {
      const auto [q, k, v] = kith::token_heads(x, weight, bias, kHeads);
      return q + k + v;
    }
    const Tensor all = torch::linear(x, weight, bias)
                           .view({128, 197, 3, kHeads, kWidth / kHeads})
                           .permute({2, 0, 3, 1, 4});
    return all[0] + all[1] + all[2];
  };
}

const bool layers_registered = [] {
  if (!torch::cuda::is_available()) return false;
  using kith::Activation;
  const auto add = [](const std::string& name, std::function<Layer()> make) {
    for (const bool fused : {true, false}) {
      benchmark::RegisterBenchmark(
          ("BM_layer/" + name + (fused ? "/fused" : "/alone")).c_str(),
          [=](benchmark::State& state) { bench_layer(state, make, fused); })
          ->Unit(benchmark::kMillisecond)
          ->MinTime(0.2);
    }
  };
  add("conv1x1_relu6", [] {
    return conv({.in = 24, .out = 144, .kernel = 1}, Activation::kRelu6, 56);
  });
  add("conv1x1_residual", [] {
    return conv({.in = 256, .out = 256, .kernel = 1}, Activation::kRelu, 56,
                true);
  });
  add("conv3x3_relu",
      [] { return conv({.in = 128, .out = 128}, Activation::kRelu, 28); });
  add("depthwise3x3_relu6", [] {
    return conv({.in = 144, .out = 144, .groups = 144}, Activation::kRelu6, 56);
  });
  add("depthwise3x3_stride2_relu6", [] {
    return conv({.in = 144, .out = 144, .stride = 2, .groups = 144},
                Activation::kRelu6, 56);
  });
  add("depthwise5x5_silu", [] {
    return conv({.in = 240, .out = 240, .kernel = 5, .groups = 240},
                Activation::kSilu, 28);
  });
  add("gem", gem);
  add("unit_rows", unit_rows);
  add("head", head);
  add("max_pool3x3", max_pool);
  add("add_norm", norm_of_sum);
  add("bias_gelu", gelu);
  add("token_heads", heads);
  return true;
}();

}  // namespace
