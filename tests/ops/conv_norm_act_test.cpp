#include "kith/ops/conv_norm_act.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/torch_compat.h"
#include "kith/ops/fused_way.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

struct ConvCase {
  std::string name;
  int64_t in, out, kernel, height, width;
  ConvNormShape shape;
  bool has_shortcut = false;
  bool of_pictures = false;
};

std::vector<ConvCase> conv_cases() {
  std::vector<ConvCase> cases;
  for (const Activation f :
       {Activation::kNone, Activation::kRelu, Activation::kRelu6,
        Activation::kSilu, Activation::kHardswish}) {
    const std::string n = std::to_string(static_cast<int>(f));
    const bool adds = slope_follows_from_result(f);
    cases.push_back({"1x1 " + n, 16, 24, 1, 5, 6, {1, 0, 1, 1e-3, f}});
    cases.push_back({"3x3 " + n, 8, 16, 3, 7, 6, {2, 1, 1, 1e-3, f}});
    cases.push_back({"groups " + n, 16, 16, 3, 5, 5, {1, 1, 2, 1e-3, f}});
    for (const int64_t kernel : {3, 5}) {
      for (const int64_t stride : {1, 2}) {
        const int64_t height = 18 - kernel, width = 11 - stride;
        cases.push_back({"depthwise " + n,
                         40,
                         40,
                         kernel,
                         height,
                         width,
                         {stride, (kernel - 1) / 2, 40, 1e-3, f}});
      }
    }
    if (!adds) continue;
    cases.push_back({"1x1 + " + n, 8, 16, 1, 4, 5, {1, 0, 1, 1e-3, f}, true});
    cases.push_back({"3x3 + " + n, 8, 8, 3, 6, 5, {1, 1, 1, 1e-3, f}, true});
    cases.push_back(
        {"depthwise + " + n, 8, 8, 3, 6, 5, {1, 1, 8, 1e-3, f}, true});
  }
  for (const bool of_pictures : {false, true}) {
    cases.push_back({of_pictures ? "7x7 of pictures" : "7x7",
                     3,
                     8,
                     7,
                     16,
                     12,
                     {2, 3, 1, 1e-3, Activation::kRelu},
                     false,
                     of_pictures});
  }
  cases.push_back(
      {"odd", 24, 24, 3, 29, 31, {2, 1, 24, 1e-3, Activation::kRelu6}});
  return cases;
}

/// Leaves that want gradients, and a gradient of the result.
struct ConvTensors {
  Tensor x, shortcut, gradient;
  ConvNormWeights weights;

  std::vector<Tensor> leaves() const {
    std::vector<Tensor> all = {weights.weight, weights.gamma, weights.beta};
    if (x.requires_grad()) all.push_back(x);
    if (shortcut.defined()) all.push_back(shortcut);
    return all;
  }

  /// The same numbers; maps may have another type.
  ConvTensors to(c10::Device device, at::ScalarType type,
                 at::ScalarType maps) const {
    const auto moved = [&](const Tensor& t, at::ScalarType to, bool learns) {
      if (!t.defined()) return t;
      const Tensor copy = t.detach().to(device).to(to);
      return (copy.dim() == 4 ? copy.contiguous(at::MemoryFormat::ChannelsLast)
                              : copy.clone())
          .requires_grad_(learns);
    };
    ConvTensors all;
    all.x = moved(x, maps, true);
    all.shortcut = moved(shortcut, maps, true);
    all.gradient = moved(gradient, maps, false);
    all.weights = {
        moved(weights.weight, type, true), moved(weights.gamma, type, true),
        moved(weights.beta, type, true), moved(weights.mean, type, false),
        moved(weights.var, type, false)};
    return all;
  }
};

ConvTensors tensors_for(const ConvCase& c) {
  const int64_t stride = c.shape.stride;
  const int64_t grown = 2 * c.shape.padding - c.kernel;
  const std::vector<int64_t> out = {3, c.out, (c.height + grown) / stride + 1,
                                    (c.width + grown) / stride + 1};
  ConvTensors t;
  t.x = random_normal({3, c.in, c.height, c.width}, 1);
  if (c.has_shortcut) t.shortcut = random_normal(out, 2);
  t.gradient = random_normal(out, 3);
  t.weights = {
      random_normal({c.out, c.in / c.shape.groups, c.kernel, c.kernel}, 4),
      random_normal({c.out}, 5), random_normal({c.out}, 6),
      random_normal({c.out}, 7), random_normal({c.out}, 8).abs() + 0.5};
  return t.to(at::kCPU, at::kDouble, at::kDouble);
}

Tensor before_activation(const ConvTensors& t, const ConvNormShape& shape) {
  const ConvNormWeights& w = t.weights;
  Tensor y = torch::conv2d(t.x, w.weight, {}, shape.stride, shape.padding, 1,
                           shape.groups);
  y = torch::batch_norm(y, w.gamma, w.beta, w.mean, w.var, false, 0, shape.eps,
                        false);
  return t.shortcut.defined() ? y + t.shortcut : y;
}

Tensor layer_by_layer(const ConvTensors& t, const ConvNormShape& shape) {
  const Tensor y = before_activation(t, shape);
  switch (shape.activation) {
    case Activation::kRelu:
      return torch::relu(y);
    case Activation::kRelu6:
      return torch::hardtanh(y, 0, 6);
    case Activation::kSilu:
      return torch::silu(y);
    case Activation::kHardswish:
      return torch::hardswish(y);
    default:
      return y;
  }
}

Tensor fused(const ConvTensors& t, const ConvNormShape& shape) {
  FoldedConv folded;
  return conv_norm_act(t.x, t.weights, shape, folded, t.shortcut);
}

std::vector<Tensor> gradients(const Tensor& y, const ConvTensors& t) {
  return torch::autograd::grad({y}, t.leaves(), {t.gradient});
}

double relative(const Tensor& a, const Tensor& b) {
  const Tensor wide = b.detach().cpu().to(at::kDouble);
  return ((a.detach().cpu().to(at::kDouble) - wide).norm() /
          wide.norm().clamp_min(1e-30))
      .item<double>();
}

TEST(ConvNormAct, ValuesAndGradientsAreThoseOfTheLayersInDouble) {
  const FusedOnCpu on_cpu;
  for (const ConvCase& c : conv_cases()) {
    const ConvTensors t = tensors_for(c);
    const Tensor expected = layer_by_layer(t, c.shape);
    const Tensor y = fused(t, c.shape);
    EXPECT_LE(relative(y, expected), 1e-14) << c.name;
    EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast)) << c.name;
    const std::vector<Tensor> wanted = gradients(expected, t);
    const std::vector<Tensor> made = gradients(y, t);
    for (size_t i = 0; i < made.size(); ++i) {
      EXPECT_LE(relative(made[i], wanted[i]), 1e-12) << c.name << ", " << i;
      EXPECT_EQ(made[i].sizes(), wanted[i].sizes()) << c.name << ", " << i;
    }
  }
}

TEST(ConvNormAct, TakesMapsInAnyOrderOfMemory) {
  const FusedOnCpu on_cpu;
  for (const ConvCase& c : conv_cases()) {
    ConvTensors t = tensors_for(c);
    t.x = t.x.detach().contiguous().requires_grad_();
    t.gradient = t.gradient.contiguous();
    const Tensor expected = layer_by_layer(t, c.shape);
    const std::vector<Tensor> made = gradients(fused(t, c.shape), t);
    const std::vector<Tensor> wanted = gradients(expected, t);
    for (size_t i = 0; i < made.size(); ++i) {
      EXPECT_LE(relative(made[i], wanted[i]), 1e-12) << c.name << ", " << i;
    }
  }
}

TEST(ConvNormAct, FoldsAgainWhenAWeightHasChanged) {
  const FusedOnCpu on_cpu;
  const ConvCase c = conv_cases().front();
  const ConvTensors t = tensors_for(c);
  FoldedConv folded;
  const at::NoGradGuard no_grad;
  conv_norm_act(t.x, t.weights, c.shape, folded);
  for (const Tensor& part : {t.weights.weight, t.weights.gamma, t.weights.beta,
                             t.weights.mean, t.weights.var}) {
    Tensor(part).mul_(1.5);
    EXPECT_LE(relative(conv_norm_act(t.x, t.weights, c.shape, folded),
                       layer_by_layer(t, c.shape)),
              1e-14);
  }
}

// Adapters make the weight anew for each pass: mostly at the address that the
// one before had, and at the same version.
TEST(ConvNormAct, FoldsAgainWhenAWeightIsMadeAnew) {
  const FusedOnCpu on_cpu;
  const ConvCase c = conv_cases().front();
  ConvTensors t = tensors_for(c);
  const Tensor original = t.weights.weight.detach();
  FoldedConv folded;
  const at::NoGradGuard no_grad;
  for (int pass = 0; pass < 5; ++pass) {
    t.weights.weight = Tensor();
    t.weights.weight = original * (pass + 1);
    EXPECT_LE(relative(conv_norm_act(t.x, t.weights, c.shape, folded),
                       layer_by_layer(t, c.shape)),
              1e-14);
  }
}

TEST(FoldedConv, KeepsNothingOfWeightsThatAreMadeAnew) {
  const ConvCase c = conv_cases().front();
  ConvNormWeights w = tensors_for(c).weights;
  FoldedConv folded;
  const auto fold = [&] {
    return folded.of(w, c.shape.eps, FoldedConv::Layout::kAsItIs, at::kDouble)
        .weight;
  };
  const Tensor original = w.weight;
  EXPECT_TRUE(fold().is_same(fold()));
  w.weight = original * 2;  // with a graph
  EXPECT_EQ(fold().use_count(), 1u);
  {
    const at::NoGradGuard no_grad;
    w.weight = original * 3;
  }
  EXPECT_TRUE(fold().is_same(fold()));
  const auto numbers = w.weight.storage().getWeakStorageImpl();
  w.weight = original;
  EXPECT_TRUE(numbers.expired());
}

TEST(ConvNormAct, WhatInferenceModeFoldedServesAGraphToo) {
  const FusedOnCpu on_cpu;
  const ConvCase c = conv_cases().front();
  const ConvTensors t = tensors_for(c);
  FoldedConv folded;
  {
    const c10::InferenceMode inference;
    conv_norm_act(t.x, t.weights, c.shape, folded);
    ConvTensors made = t;
    made.weights.gamma = t.weights.gamma * 2;  // has no version
    EXPECT_LE(relative(conv_norm_act(made.x, made.weights, c.shape, folded),
                       layer_by_layer(made, c.shape)),
              1e-14);
    conv_norm_act(t.x, t.weights, c.shape, folded);
  }
  const Tensor y = conv_norm_act(t.x, t.weights, c.shape, folded);
  const std::vector<Tensor> made = gradients(y, t);
  const std::vector<Tensor> wanted = gradients(layer_by_layer(t, c.shape), t);
  for (size_t i = 0; i < made.size(); ++i) {
    EXPECT_LE(relative(made[i], wanted[i]), 1e-12) << i;
  }
}

// Strides of what has size 1 mean nothing, and LibTorch then takes such a
// gradient for one with channels first.
TEST(ConvNormAct, TakesGradientsOfNarrowMaps) {
  const FusedOnCpu on_cpu;
  const ConvCase c = {
      "narrow", 8, 16, 1, 5, 1, {1, 0, 1, 1e-3, Activation::kRelu6}};
  ConvTensors t = tensors_for(c);
  const std::vector<Tensor> wanted = gradients(layer_by_layer(t, c.shape), t);
  t.gradient = t.gradient.as_strided({3, 16, 5, 1}, {80, 1, 16, 1});
  ASSERT_TRUE(t.gradient.is_contiguous(at::MemoryFormat::ChannelsLast));
  const std::vector<Tensor> made = gradients(fused(t, c.shape), t);
  for (size_t i = 0; i < made.size(); ++i) {
    EXPECT_LE(relative(made[i], wanted[i]), 1e-12) << i;
  }
}

TEST(ConvNormAct, RefusesAShortcutOfOtherSizes) {
  const FusedOnCpu on_cpu;
  const ConvCase c = conv_cases().front();
  ConvTensors t = tensors_for(c);
  t.shortcut = random_normal({3, c.out, 1, 1}, 2);
  expect_error<c10::ValueError>([&] { fused(t, c.shape); },
                                "expected a shortcut [3, 24, 5, 6]",
                                "[3, 24, 1, 1]");
}

TEST(ConvNormAct, GivesNoGradientToWhatWantsNone) {
  const FusedOnCpu on_cpu;
  const ConvCase c = conv_cases().front();
  ConvTensors t = tensors_for(c);
  t.x = t.x.detach();
  t.weights.gamma.requires_grad_(false);
  t.weights.beta.requires_grad_(false);
  fused(t, c.shape).backward(t.gradient);
  EXPECT_TRUE(t.weights.weight.grad().defined());
  EXPECT_FALSE(t.weights.gamma.grad().defined());
  const Tensor wanted = torch::autograd::grad(
      {layer_by_layer(t, c.shape)}, {t.weights.weight}, {t.gradient})[0];
  EXPECT_LE(relative(t.weights.weight.grad(), wanted), 1e-12);
}

TEST(ConvNormAct, OfPicturesIsThatOfTheLayers) {
  const FusedOnCpu on_cpu;
  for (const int64_t channels : {1, 3, 4}) {
    for (const int64_t kernel : {3, 5, 7}) {
      for (const Activation f : {Activation::kRelu, Activation::kSilu}) {
        const ConvCase c = {"pictures",
                            channels,
                            16,
                            kernel,
                            18,
                            12,
                            {2, (kernel - 1) / 2, 1, 1e-3, f}};
        ConvTensors t = tensors_for(c);
        // Of the first layer, which needs no gradient of its input.
        t.x = t.x.detach();
        const std::vector<Tensor> leaves = t.leaves();
        const Tensor y = fused(t, c.shape);
        const Tensor expected = layer_by_layer(t, c.shape);
        EXPECT_LE(relative(y, expected), 1e-14) << channels << ", " << kernel;
        const auto made = torch::autograd::grad({y}, leaves, {t.gradient});
        const auto wanted =
            torch::autograd::grad({expected}, leaves, {t.gradient});
        for (size_t i = 0; i < made.size(); ++i) {
          EXPECT_LE(relative(made[i], wanted[i]), 1e-12) << kernel << ", " << i;
        }
      }
    }
  }
}

TEST(ConvNormAct, RefusesASecondDerivative) {
  const FusedOnCpu on_cpu;
  const ConvCase c = conv_cases().front();
  const ConvTensors t = tensors_for(c);
  const Tensor y = fused(t, c.shape).sum();
  EXPECT_THROW(torch::autograd::grad({y}, {t.x}, {}, true, true), c10::Error);
}

TEST(ConvNormAct, NanStaysNan) {
  const FusedOnCpu on_cpu;
  for (const ConvCase& c : conv_cases()) {
    ConvTensors t = tensors_for(c);
    t.x = torch::full_like(t.x, std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(fused(t, c.shape).isnan().all().item<bool>()) << c.name;
  }
}

TEST(ConvNormAct, NanStaysNanOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  for (const ConvCase& c : conv_cases()) {
    ConvTensors t = tensors_for(c).to(at::kCUDA, at::kFloat, at::kBFloat16);
    t.x = torch::full_like(t.x, std::numeric_limits<double>::quiet_NaN());
    EXPECT_TRUE(fused(t, c.shape).isnan().all().item<bool>()) << c.name;
  }
}

/// Gradients in float64, ReLU and ReLU6 being at their corners where `y` is:
/// there rounding decides.
std::vector<Tensor> gradients_by_layer(const ConvTensors& t,
                                       const ConvNormShape& shape,
                                       const Tensor& y) {
  const bool is_relu = shape.activation == Activation::kRelu;
  if (!is_relu && shape.activation != Activation::kRelu6) {
    return gradients(layer_by_layer(t, shape), t);
  }
  const Tensor passes = is_relu ? y > 0 : (y > 0).logical_and(y < 6);
  return torch::autograd::grad({before_activation(t, shape)}, t.leaves(),
                               {t.gradient * passes});
}

/// Beside the layers in float64: away from them by roundings of maps and
/// weights, 2^-9 each.
void expect_close_in_bfloat16(const ConvCase& c, c10::Device device) {
  const ConvTensors cpu = tensors_for(c);
  ConvTensors t = cpu.to(device, at::kFloat, at::kBFloat16);
  // The numbers that the fused way sees.
  ConvTensors exact = t.to(device, at::kDouble, at::kDouble);
  // Pictures want no gradient: only then is it the way of a first layer.
  for (ConvTensors* some : {&t, &exact}) {
    some->x.requires_grad_(!c.of_pictures);
  }
  Tensor y;
  {
    const Autocast low(device.is_cuda());
    ASSERT_TRUE(can_conv_norm_act(t.x, t.weights, c.shape)) << c.name;
    y = fused(t, c.shape);
  }
  EXPECT_EQ(y.scalar_type(), at::kBFloat16);
  EXPECT_LE(relative(y, layer_by_layer(exact, c.shape)), 6e-3) << c.name;
  const std::vector<Tensor> made = gradients(y, t);
  const std::vector<Tensor> wanted = gradients_by_layer(exact, c.shape, y);
  // The slope of hardswish jumps by a half at both corners.
  const bool jumps = c.shape.activation == Activation::kHardswish;
  const double bound = jumps ? 3e-2 : 1e-2;
  for (size_t i = 0; i < made.size(); ++i) {
    EXPECT_LE(relative(made[i], wanted[i]), bound) << c.name << ", " << i;
    EXPECT_EQ(made[i].scalar_type(), t.leaves()[i].scalar_type());
  }
}

TEST(ConvNormAct, InBfloat16IsCloseToTheLayers) {
  const FusedOnCpu on_cpu;
  for (const ConvCase& c : conv_cases()) expect_close_in_bfloat16(c, at::kCPU);
}

/// Of several blocks of a GPU, with more channels than one block takes.
std::vector<ConvCase> large_cases() {
  std::vector<ConvCase> cases = conv_cases();
  const Activation f = Activation::kRelu6;
  for (const int64_t channels : {32, 96, 576, 960}) {
    for (const int64_t stride : {1, 2}) {
      cases.push_back({"large depthwise " + std::to_string(channels),
                       channels,
                       channels,
                       3,
                       57,
                       43,
                       {stride, 1, channels, 1e-3, f}});
    }
  }
  cases.push_back({"wide 5x5", 672, 672, 5, 14, 14, {2, 2, 672, 1e-3, f}});
  cases.push_back({"wide", 8, 4104, 1, 9, 9, {1, 0, 1, 1e-3, f}});
  cases.push_back({"long", 8, 16, 1, 200, 150, {1, 0, 1, 1e-3, f}});
  return cases;
}

TEST(ConvNormAct, OnAGpuIsCloseToTheLayersAndTheSameEveryTime) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const Autocast off(false);
  for (const ConvCase& c : large_cases()) {
    expect_close_in_bfloat16(c, at::kCUDA);
    const bool is_own = c.shape.groups == c.in || c.kernel == 1;
    if (!is_own) continue;  // cuDNN may add up in another order
    const ConvTensors t =
        tensors_for(c).to(at::kCUDA, at::kFloat, at::kBFloat16);
    std::vector<Tensor> first;
    for (int time = 0; time < 2; ++time) {
      const Autocast low(true);
      const Tensor y = fused(t, c.shape);
      std::vector<Tensor> all = gradients(y, t);
      all.push_back(y);
      if (time == 0) first = all;
      for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_TRUE(torch::equal(all[i], first[i])) << c.name << ", " << i;
      }
    }
  }
}

/// What LibTorch may take cuDNN for, while it lives.
class CudnnUse {
 public:
  CudnnUse(bool enabled, bool deterministic)
      : enabled_(at::globalContext().userEnabledCuDNN()),
        deterministic_(at::globalContext().deterministicCuDNN()) {
    set(enabled, deterministic);
  }
  ~CudnnUse() { set(enabled_, deterministic_); }
  CudnnUse(const CudnnUse&) = delete;
  CudnnUse& operator=(const CudnnUse&) = delete;

 private:
  static void set(bool enabled, bool deterministic) {
    at::globalContext().setUserEnabledCuDNN(enabled);
    at::globalContext().setDeterministicCuDNN(deterministic);
  }

  bool enabled_;
  bool deterministic_;
};

// LibTorch's own convolutions, then bias and activation.
TEST(ConvNormAct, OnAGpuNeedsNoCudnn) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU";
  const Autocast off(false);
  for (const bool enabled : {false, true}) {
    const CudnnUse use(enabled, /*deterministic=*/enabled);
    SCOPED_TRACE(enabled ? "deterministic" : "none");
    for (const ConvCase& c : conv_cases()) {
      expect_close_in_bfloat16(c, at::kCUDA);
    }
  }
}

}  // namespace
}  // namespace kith
