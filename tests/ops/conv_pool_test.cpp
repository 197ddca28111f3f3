#include "kith/ops/conv_pool.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/cpu_levels.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

Tensor two_layers(const Tensor& images, const Tensor& weight) {
  return torch::max_pool2d(torch::conv2d(images, weight, {}, 1, 1), 2);
}

struct Case {
  int64_t count, channels, height, width, filters;
};
constexpr Case kCases[] = {
    {1, 1, 2, 2, 16}, {19, 1, 32, 32, 64}, {3, 3, 6, 10, 32}, {9, 4, 8, 4, 16}};

Tensor pictures_of(const Case& c) {
  return random_normal({c.count, c.channels, c.height, c.width}, 1, at::kFloat);
}

Tensor filters_of(const Case& c) {
  return random_normal({c.filters, c.channels, 3, 3}, 2, at::kFloat);
}

TEST(ConvPool, ValuesAndGradientsAreThoseOfTheTwoLayersInDouble) {
  for_each_cpu_level([] {
    for (const Case& c : kCases) {
      for (const bool last : {false, true}) {
        const auto order = last ? at::MemoryFormat::ChannelsLast
                                : at::MemoryFormat::Contiguous;
        const Tensor images = pictures_of(c).contiguous(order);
        const Tensor weight = filters_of(c).contiguous(order).requires_grad_();
        ASSERT_TRUE(can_conv_pool(images, weight));
        const Tensor y = conv_pool(images, weight);
        const Tensor in_double = weight.detach().to(at::kDouble);
        in_double.requires_grad_();
        const Tensor expected = two_layers(images.to(at::kDouble), in_double);
        EXPECT_LE(max_difference(y, expected), 1e-5);
        EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));

        const Tensor gradient = random_normal(y.sizes().vec(), 3, at::kFloat);
        y.backward(gradient);
        expected.backward(gradient.to(at::kDouble));
        const double size = in_double.grad().abs().max().item<double>();
        EXPECT_LE(max_difference(weight.grad(), in_double.grad()), 1e-5 * size);
        EXPECT_EQ(weight.grad().strides(), weight.strides());

        const torch::NoGradGuard no_grad;
        EXPECT_TRUE(same_bits(conv_pool(images, weight), y.detach()));
      }
    }
  });
}

TEST(ConvPool, OfEqualValuesTheFirstGetsTheGradient) {
  for_each_cpu_level([] {
    const Tensor images = torch::ones({1, 1, 8, 8});
    const Tensor weight =
        random_normal({16, 1, 3, 3}, 1, at::kFloat).requires_grad_();
    const auto of = [&](const Tensor& y) {
      return torch::autograd::grad({y.sum()}, {weight})[0];
    };
    EXPECT_LE(max_difference(of(conv_pool(images, weight)),
                             of(two_layers(images, weight))),
              1e-6);
  });
}

TEST(ConvPool, NanStaysNan) {
  for_each_cpu_level([] {
    const Case c = {1, 1, 8, 8, 16};
    Tensor images = pictures_of(c);
    images[0][0][3][3] = std::numeric_limits<float>::quiet_NaN();
    const Tensor y = conv_pool(images, filters_of(c));
    EXPECT_TRUE(
        torch::equal(y.isnan(), two_layers(images, filters_of(c)).isnan()));
    EXPECT_TRUE(y.isnan().any().item<bool>());
  });
}

TEST(ConvPool, HasTheSameBitsWithAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  const Tensor images = pictures_of(kCases[1]);
  std::vector<Tensor> values, gradients;
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    const Tensor weight = filters_of(kCases[1]).requires_grad_();
    const Tensor y = conv_pool(images, weight);
    y.square().sum().backward();
    values.push_back(y.detach());
    gradients.push_back(weight.grad());
  }
  at::set_num_threads(before);
  for (size_t i = 1; i < values.size(); ++i) {
    EXPECT_TRUE(same_bits(values[0], values[i]));
    EXPECT_TRUE(same_bits(gradients[0], gradients[i]));
  }
}

TEST(ConvPool, HasASecondDerivative) {
  const Case c = {2, 1, 8, 8, 16};
  const auto penalty = [&](const auto& layers) {
    const Tensor weight = filters_of(c).requires_grad_();
    const Tensor y = layers(pictures_of(c), weight);
    const Tensor first =
        torch::autograd::grad({y.square().sum()}, {weight}, {}, true, true)[0];
    return torch::autograd::grad({first.square().sum()}, {weight})[0];
  };
  const Tensor expected = penalty(two_layers);
  EXPECT_LE(max_difference(penalty(conv_pool), expected),
            1e-5 * expected.abs().max().item<double>());
}

TEST(ConvPool, LeavesWhatItDoesNotKnow) {
  const Tensor weight = torch::ones({16, 1, 3, 3});
  const auto can = [&](const Tensor& images) {
    return can_conv_pool(images, weight);
  };
  EXPECT_TRUE(can(torch::ones({2, 1, 8, 8})));
  EXPECT_FALSE(can(torch::ones({2, 1, 7, 8})));
  EXPECT_FALSE(can(torch::ones({2, 3, 8, 8})));
  EXPECT_FALSE(can(torch::ones({2, 1, 8, 8}, at::kDouble)));
  EXPECT_FALSE(can(torch::ones({2, 1, 8, 8}).requires_grad_()));
  EXPECT_FALSE(
      can_conv_pool(torch::ones({2, 1, 8, 8}), torch::ones({24, 1, 3, 3})));
  EXPECT_FALSE(
      can_conv_pool(torch::ones({2, 1, 8, 8}), torch::ones({16, 1, 5, 5})));
  EXPECT_THROW(conv_pool(torch::ones({2, 1, 7, 8}), weight), c10::ValueError);
}

}  // namespace
}  // namespace kith
