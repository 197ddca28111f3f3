// Vision transformers against those of timm, torchvision, transformers and of
// the code that published them (tests/python/make_network_golden.py).

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/path.h"
#include "kith/io/tensor_io.h"
#include "kith/models/vision_transformer.h"
#include "kith/models/weights.h"
#include "tests/support/paths.h"
#include "tests/support/torch/golden.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// The options that a case names, over the defaults.
VitOptions options_of(const nlohmann::json& meta) {
  return read_options<VitOptions>(
      parse_config(meta.at("options").dump(), "meta.json"), "options");
}

class VitGolden : public ::testing::TestWithParam<GoldenCase> {
 protected:
  void SetUp() override {
    const VitOptions options = options_of(golden_.meta());
    net_ = std::make_unique<VisionTransformer>(
        options, BackboneInput{3, options.grid * options.patch, "stats"});
    net_->eval();
  }

  std::string file(const std::string& name) const {
    return golden_dir() + "/" + golden_.item + "/" + golden_.name + "/" + name;
  }

  bool has(const std::string& array) const {
    return path_exists(file(array + ".npy"));
  }

  /// Equal to `tolerance` of the largest value.
  static void expect_near(const Tensor& value, const Tensor& expected,
                          double tolerance) {
    ASSERT_EQ(value.sizes(), expected.sizes());
    EXPECT_LE(max_difference(value, expected),
              tolerance * expected.abs().max().item<double>());
  }

  void expect_features(const std::string& images, const std::string& prefix) {
    SCOPED_TRACE(images);
    const torch::NoGradGuard no_grad;
    const Features out = net_->forward(golden_.array(images));
    expect_near(out.map, golden_.array(prefix + "map"), 1e-5);
    EXPECT_EQ(net_->has_token(), out.token.defined());
    if (has(prefix + "token")) {
      expect_near(out.token, golden_.array(prefix + "token"), 1e-5);
    }
  }

  GoldenCase golden_ = GetParam();
  std::unique_ptr<VisionTransformer> net_;
};

TEST_P(VitGolden, AllWeightsAreInTheFile) {
  const WeightReport report = load_weights(file("weights.safetensors"), *net_);
  EXPECT_TRUE(report.missing.empty()) << report.summary();
  EXPECT_TRUE(report.mismatched.empty()) << report.summary();
}

TEST_P(VitGolden, FeaturesAreThoseOfTheSource) {
  load_weights(file("weights.safetensors"), *net_);
  expect_features("images", "");
}

TEST_P(VitGolden, FeaturesOfAnotherSizeAreThoseOfTheSource) {
  load_weights(file("weights.safetensors"), *net_);
  if (has("other")) expect_features("other", "other_");
}

/// sum(a_i f(i)), i the index in memory.
Tensor weighted(const Tensor& a, Tensor (*function)(const Tensor&)) {
  const Tensor i = torch::arange(a.numel(), torch::kDouble);
  return (a.flatten() * function(i)).sum();
}

TEST_P(VitGolden, GradientsAreThoseOfTheSource) {
  load_weights(file("weights.safetensors"), *net_);
  const Features out = net_->forward(golden_.array("images"));
  Tensor loss = weighted(out.map, torch::sin);
  if (has("token")) loss = loss + weighted(out.token, torch::cos);
  loss.backward();
  // Gradients take the same way as the weights: joined as these are. The one of
  // positions that became part of the class token is the token's as well.
  NamedTensors expected = read_weights(file("gradients.safetensors"));
  net_->adapt_weights(expected);
  const bool folded = !net_->options().prefix_positions;
  const auto parameters = net_->named_parameters();
  int64_t compared = 0;
  for (const auto& [name, gradient] : expected) {
    if (!parameters.contains(name)) continue;
    if (name == "cls_token" && folded) continue;
    if (!gradient.any().item<bool>()) continue;  // of a bias it does not have
    SCOPED_TRACE(name);
    ASSERT_TRUE(parameters[name].grad().defined());
    expect_near(parameters[name].grad(), gradient, 1e-4);
    ++compared;
  }
  EXPECT_GT(compared, static_cast<int64_t>(parameters.size()) * 3 / 4);
}

INSTANTIATE_TEST_SUITE_P(Cases, VitGolden,
                         ::testing::ValuesIn(golden_cases("vit")),
                         [](const auto& golden) {
                           return golden.param.test_name();
                         });

}  // namespace
}  // namespace kith
