// GoogLeNet in two versions and BN-Inception against published code, with
// weights that a formula makes: features of torchvision's googlenet, of Caffe's
// bvlc_googlenet written in functions of torch
// (tests/python/make_backbone_golden.py) and of HIST's bn_inception.

#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/models/backbone.h"
#include "kith/models/weights.h"
#include "tests/support/torch/golden.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using Sizes = std::vector<int64_t>;

const char* const kNets[] = {"googlenet", "inception_v1", "bn_inception"};

std::shared_ptr<Backbone> make(const std::string& name, int64_t channels = 3,
                               const std::string& batch_norm = "stats") {
  return backbone_registry().make(parse_config("{name: " + name + "}", "test"),
                                  "model.backbone",
                                  BackboneInput{channels, 64, batch_norm});
}

Tensor indices(const Sizes& sizes) {
  return torch::arange(c10::multiply_integers(sizes), torch::kDouble)
      .view(sizes);
}

/// The k-th tensor of a file (k from 1) as meta.json says under "weights".
Tensor formula(size_t k, const std::string& name, const Sizes& sizes) {
  const Tensor i = indices(sizes);
  const double p = 0.1 * static_cast<double>(k);
  if (name.ends_with("running_mean")) return 0.05 * (2 * i + p).sin();
  if (name.ends_with("running_var"))
    return 1 + 0.2 * (3 * i + p).cos().square();
  if (name.ends_with("bias")) return 0.1 * (i + p).cos();
  if (sizes.size() == 1) return 1 + 0.1 * (i + p).sin();
  const auto fan_in = static_cast<double>(sizes[1] * sizes[2] * sizes[3]);
  return 2 / std::sqrt(fan_in) * (0.7 * i + p).sin();
}

NamedTensors weights_of(const nlohmann::json& meta) {
  NamedTensors weights;
  for (const auto& entry : meta.at("tensors")) {
    const auto name = entry.at(0).get<std::string>();
    weights.emplace_back(
        name, formula(weights.size() + 1, name, entry.at(1).get<Sizes>()));
  }
  return weights;
}

NamedTensors targets_of(const Backbone& net) {
  NamedTensors targets;
  for (const auto& t : net.named_parameters())
    targets.emplace_back(t.key(), t.value());
  for (const auto& t : net.named_buffers())
    targets.emplace_back(t.key(), t.value());
  return targets;
}

/// All weights of the golden case, in the order of its names, fill the net.
void expect_filled(Backbone& net, NamedTensors weights) {
  const torch::NoGradGuard no_grad;
  net.adapt_weights(weights);
  const WeightReport report = copy_weights("golden", weights, targets_of(net));
  EXPECT_EQ(report.matched.size(), weights.size()) << report.summary();
  EXPECT_TRUE(report.missing.empty()) << report.summary();
}

Tensor input_of(const nlohmann::json& meta) {
  // The first case, which has 224 x 224 pixels, says its input in words.
  const Sizes sizes = meta.value("input_shape", Sizes{2, 3, 224, 224});
  return meta.value("input_scale", 1.0) *
         (meta.value("input_step", 0.01) * indices(sizes)).sin();
}

void expect_golden(const std::string& name, at::ScalarType type,
                   const std::string& tolerance) {
  SCOPED_TRACE(name);
  const GoldenCase golden = {"backbone_" + name, "."};
  const nlohmann::json meta = golden.meta();
  const auto net = make(name);
  net->to(type);
  expect_filled(*net, weights_of(meta));
  const torch::NoGradGuard no_grad;
  const Tensor map = net->forward(input_of(meta).to(type)).map;
  EXPECT_EQ(map.sizes(), meta.at("feature_map").get<Sizes>());
  const double relative = meta.at(tolerance);
  const auto expect_near = [&](const Tensor& value, const char* file) {
    const Tensor expected = golden.array(file);
    EXPECT_LE(max_difference(value, expected),
              relative * expected.abs().max().item<double>())
        << file;
  };
  expect_near(map.mean({2, 3}), "features_mean");
  expect_near(map.amax({2, 3}), "features_max");
}

TEST(Inception, FeaturesOfTorchvisionsGoogLeNet) {
  expect_golden("googlenet", torch::kDouble, "tol64_rel");
}

// The names of its weights are Caffe's, with a slash.
TEST(Inception, FeaturesOfCaffesGoogLeNet) {
  expect_golden("inception_v1", torch::kDouble, "tol64_rel");
}

TEST(Inception, FeaturesOfThePublishedBnInception) {
  expect_golden("bn_inception", torch::kDouble, "tol64_rel");
}

TEST(Inception, TakesPicturesOfAnySize) {
  for (const std::string name : kNets) {
    SCOPED_TRACE(name);
    const auto net = make(name);
    EXPECT_EQ(net->fixed_size(), "");
    const torch::NoGradGuard no_grad;
    for (const int64_t side : {1, 8, 17, 33, 47, 63, 75, 96}) {
      const Tensor map =
          net->forward(random_normal({1, 3, side, 35}, 1, at::kFloat)).map;
      EXPECT_EQ(map.size(1), 1024);
      EXPECT_GE(map.size(2), (side + 15) / 32) << side;
      EXPECT_LE(map.size(2), (side + 31) / 32) << side;
      EXPECT_TRUE(torch::isfinite(map).all().item<bool>());
    }
  }
}

TEST(Inception, GradientsReachEveryParameter) {
  for (const std::string name : kNets) {
    const auto net = make(name, 1, "train");
    net->forward(random_normal({2, 1, 32, 48}, 1, at::kFloat))
        .map.sum()
        .backward();
    for (const auto& entry : net->named_parameters()) {
      ASSERT_TRUE(entry.value().grad().defined()) << entry.key();
      EXPECT_TRUE(torch::isfinite(entry.value().grad()).all().item<bool>());
    }
  }
}

TEST(Inception, ClassifiersInAFileAreNotUsed) {
  for (const auto& [name, extra] :
       {std::pair("googlenet", "aux1.fc2.weight"),
        std::pair("inception_v1", "loss3/classifier.weight"),
        std::pair("bn_inception", "last_linear.weight")}) {
    SCOPED_TRACE(name);
    const auto net = make(name);
    NamedTensors file = targets_of(*net);
    file.emplace_back(extra, torch::zeros({2}));
    net->adapt_weights(file);
    const torch::NoGradGuard no_grad;
    const WeightReport report = copy_weights("file", file, targets_of(*net));
    EXPECT_EQ(report.unexpected.size(), 1u);
    EXPECT_TRUE(report.missing.empty());
    EXPECT_TRUE(report.mismatched.empty());
  }
}

}  // namespace
}  // namespace kith
