#include "kith/onnx/export_onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbones.h"
#include "kith/onnx/recording.h"
#include "kith/ops/is_recorded.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"

// What the models compute is compared by tests/python/onnx_test.py.

namespace kith {
namespace {

using Function = OwnNetwork::Function;

InputOptions small_pictures() {
  InputOptions input;
  input.size = 16;
  input.colour = "rgb";
  return input;
}

/// A network of the user's own: a linear layer behind `function`.
OnnxModel own_model(const Function& function) {
  const auto layer = std::make_shared<torch::nn::LinearImpl>(4, 3);
  EmbeddingNet net(
      small_pictures(),
      OwnNetwork([=](const Tensor& x) { return layer->forward(function(x)); },
                 layer));
  return onnx_model(net, {}, {});
}

Tensor corners(const Tensor& x) {
  return x.mean(1).narrow(1, 0, 2).narrow(2, 0, 2).flatten(1);
}

void expect_refused(const Function& function, const std::string& part) {
  expect_error<ConfigError>([&] { own_model(function); }, part);
}

TEST(ExportOnnx, NamesAnOperationThatItDoesNotKnow) {
  expect_refused([](const Tensor& x) { return corners(x).cumsum(1); },
                 "aten::cumsum");
  expect_refused(
      [](const Tensor& x) {
        return std::get<1>(corners(x).sort(1)) * corners(x);
      },
      "aten::sort");
  // The values are known, their places are not.
  expect_refused(
      [](const Tensor& x) {
        return corners(x) + std::get<1>(corners(x).max(1, true));
      },
      "second result of aten::max");
}

TEST(ExportOnnx, NoticesWhatNoOperationDoes) {
  // Memory is changed behind LibTorch's back.
  const std::string part = "something that is no operation";
  expect_refused(
      [](const Tensor& x) {
        Tensor y = corners(x).contiguous();
        for (int64_t i = 0; i < y.numel(); ++i) y.data_ptr<float>()[i] *= 2;
        return y;
      },
      part);
  // The tracer does not see that y changes with a part of it.
  expect_refused(
      [](const Tensor& x) {
        Tensor y = corners(x).clone();
        y.narrow(1, 0, 1).mul_(2);
        return y;
      },
      part);
}

TEST(ExportOnnx, RefusesWhatDependsOnTheNumberOfPictures) {
  expect_refused(
      [](const Tensor& x) {
        return corners(x) / static_cast<double>(x.size(0));
      },
      "number or the size");
  expect_refused(
      [](const Tensor& x) {
        return x.size(0) > 4 ? corners(x).relu() : corners(x);
      },
      "for another number or size");
}

TEST(ExportOnnx, RefusesAnotherOrderForAnotherNumberOfPictures) {
  expect_refused(
      [](const Tensor& x) {
        const Tensor a = corners(x), b = a.exp();
        return x.size(0) > 4 ? a / b : b / a;
      },
      "operations in another order");
}

TEST(ExportOnnx, LeavesTheNetworkAsItWas) {
  const auto net = EmbeddingNet::make<Convnet>({.width = 8}, small_pictures());
  net->train();
  const OnnxModel model = onnx_model(*net, {}, {});
  EXPECT_TRUE(net->is_training());
  for (const Tensor& parameter : net->parameters()) {
    EXPECT_TRUE(parameter.requires_grad());
  }
  EXPECT_FALSE(is_recorded());
  // Weights keep their names; batch norm is in those of the last convolution.
  std::vector<std::string> names;
  for (const OnnxConstant& constant : model.constants) {
    names.push_back(constant.name);
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"backbone.block1_conv.weight",
                                            "backbone.block4_conv.weight",
                                            "head.linear.weight"}));
  EXPECT_THAT(
      names,
      testing::Not(testing::Contains("backbone.block4_norm.running_var")));
}

TEST(ExportOnnx, ChecksItsOptions) {
  const auto net = EmbeddingNet::make<Convnet>({.width = 8}, small_pictures());
  expect_error<ConfigError>([&] { onnx_model(*net, {.input = "int8"}, {}); },
                            "'onnx.input'");
  {
    const torch::NoGradGuard no_grad;
    net->named_parameters()["head.linear.bias"].fill_(NAN);
  }
  expect_error<RunError>([&] { onnx_model(*net, {}, {}); }, "not finite");
  net->to(torch::kDouble);
  expect_error<ConfigError>([&] { onnx_model(*net, {}, {}); }, "float32");
}

TEST(ExportOnnx, WeightsBeyondHalfStayWhatTheyAre) {
  const auto net = EmbeddingNet::make<Convnet>({.width = 8}, small_pictures());
  {
    const torch::NoGradGuard no_grad;
    net->named_parameters()["head.linear.weight"][0][0] = 1e6;
  }
  const OnnxModel model = onnx_model(*net, {.weights = "float16"}, {});
  for (const OnnxConstant& constant : model.constants) {
    const bool is_large = constant.name == "head.linear.weight";
    const bool is_kernel = constant.value.dim() == 4;
    if (is_large) {
      EXPECT_EQ(constant.value.scalar_type(), at::kFloat);
    } else if (is_kernel) {
      EXPECT_EQ(constant.value.scalar_type(), at::kHalf);
    }
  }
}

/// normalize_rows() as it is recorded, without the recording of anything else.
Tensor recorded_rows(const Tensor& rows) {
  Tensor result;
  record([&](const Tensor& x) { return result = normalize_rows(x); }, rows);
  return result;
}

TEST(ExportOnnx, RowsAreNormalisedAtAnyScale) {
  const Tensor rows = torch::randn({6, 8});
  rows[1] *= 1e30;
  rows[2] *= 1e-30;
  rows[3].zero_();
  rows[4] = torch::zeros({8});
  rows[4][2] = -3e38;
  EXPECT_LE(
      (recorded_rows(rows) - normalize_rows(rows)).abs().max().item<float>(),
      3e-7);
}

}  // namespace
}  // namespace kith
