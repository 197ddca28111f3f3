#include "kith/models/weights.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "tests/support/expect_error.h"
#include "tests/support/pth_files.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using Names = std::vector<std::string>;

/// conv.weight [2, 3, 1, 1], norm.{weight, bias, running_mean, running_var} [2]
/// and norm.num_batches_tracked.
class SmallBackbone final : public Backbone {
 public:
  SmallBackbone() {
    register_module("conv", torch::nn::Conv2d(
                                torch::nn::Conv2dOptions(3, 2, 1).bias(false)));
    register_module("norm", torch::nn::BatchNorm2d(2));
  }
  Features run(const Tensor& images, const Mixing&) override {
    return {images, {}};
  }
  int64_t features() const override { return 2; }
  void adapt_weights(NamedTensors& tensors) const override {
    for (auto& [name, tensor] : tensors) {
      if (name == "stem.weight") name = "conv.weight";
    }
  }
};

Names names_of(const NamedTensors& tensors) {
  Names names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

/// All of a SmallBackbone, with `prefix` in front; values differ.
NamedTensors small_weights(const std::string& prefix) {
  return {{prefix + "conv.weight", torch::arange(6.).reshape({2, 3, 1, 1})},
          {prefix + "norm.weight", torch::tensor({1., 2.})},
          {prefix + "norm.bias", torch::tensor({3., 4.})},
          {prefix + "norm.running_mean", torch::tensor({5., 6.})},
          {prefix + "norm.running_var", torch::tensor({7., 8.})}};
}

class WeightsTest : public ::testing::Test {
 protected:
  std::string save(NamedTensors tensors) {
    std::vector<std::pair<std::string, ArrayView>> views;
    for (auto& [name, tensor] : tensors) {
      tensor = tensor.contiguous();
      views.emplace_back(name, view_of(tensor));
    }
    write_safetensors(dir_.file("w.safetensors"), views);
    return dir_.file("w.safetensors");
  }
  /// Scalars by name, the first 0, the second 1 and so on.
  std::string save_scalars(const Names& names) {
    NamedTensors tensors;
    for (const std::string& name : names) {
      tensors.emplace_back(name, torch::tensor(double(tensors.size())));
    }
    return save(tensors);
  }
  /// A file of torch.save; each tensor is one element of {0, 1, 2, 3}.
  std::string save_pth(const std::string& object) {
    return dir_.write("w.pth",
                      raw_pth(object, {{"0", raw_floats({0, 1, 2, 3})}}));
  }

  TempDir dir_;
};

std::string p_scalar(int64_t value) {
  return p_tensor({"0", 4, {}, {}, value});
}

// The length of the header is the first byte, and other formats begin with 0x80
// or "PK".
TEST_F(WeightsTest, SafetensorsOfEveryLengthOfTheHeaderAreRead) {
  for (size_t length = 1; length < 270; length += 8) {
    const std::string name(length, 'x');
    EXPECT_EQ(names_of(read_weights(save_scalars({name}))), Names{name});
  }
}

TEST_F(WeightsTest, StripsWhatWrappersLeave) {
  EXPECT_EQ(
      names_of(read_weights(save_scalars(
          {"a.weight", "module.b.weight", "module.model.c", "model.backbone.d",
           "_orig_mod.module.e", "head.model.f", "models.g", "model."}))),
      (Names{"a.weight", "b.weight", "c", "d", "e", "head.model.f", "models.g",
             "model."}));
}

TEST_F(WeightsTest, KeepsBothNamesOfAClash) {
  const NamedTensors tensors = read_weights(
      save_scalars({"module.model.a", "model.a", "module.b", "backbone.b"}));
  EXPECT_EQ(names_of(tensors),
            (Names{"module.model.a", "a", "b", "backbone.b"}));
  EXPECT_EQ(tensors[1].second.item<double>(), 1);
  EXPECT_EQ(tensors[2].second.item<double>(), 2);
}

TEST_F(WeightsTest, LooksIntoCheckpoints) {
  const std::string weights =
      p_dict({{"module.a", p_scalar(1)}, {"b", p_scalar(2)}});
  const std::string others =
      p_dict({{"0", p_dict({{"exp_avg", p_scalar(3)}})}});
  for (const char* key :
       {"state_dict", "model_state_dict", "model", "net", "teacher"}) {
    const NamedTensors tensors = read_weights(save_pth(
        p_dict({{"optimizer", others}, {key, weights}, {"epoch", "K\1"}})));
    EXPECT_EQ(names_of(tensors), (Names{"a", "b"})) << key;
    EXPECT_EQ(tensors[1].second.item<float>(), 2);
  }
  EXPECT_EQ(names_of(read_weights(save_pth(
                p_dict({{"model", p_dict({{"state_dict", weights}})}})))),
            (Names{"a", "b"}));
  EXPECT_EQ(names_of(read_weights(
                save_pth(p_dict({{"student", others}, {"teacher", weights}})))),
            (Names{"a", "b"}));
  // Without a known key all tensors are taken.
  EXPECT_EQ(names_of(read_weights(save_pth(
                p_dict({{"backbone", weights}, {"optimizer", others}})))),
            (Names{"a", "b", "optimizer.0.exp_avg"}));
}

TEST_F(WeightsTest, RefusesOtherFiles) {
  const auto refused = [&](const std::string& bytes, const auto&... parts) {
    const std::string path = dir_.write("w.bin", bytes);
    expect_error<DataError>([&] { read_weights(path); }, path, parts...);
  };
  refused("", "neither");
  refused("hello, world", "neither");
  refused(std::string(600, 'x'), "torch.save");
  refused(raw_pth("}", {}), "no tensors");
  refused(raw_pth(p_global("os", "system") + p_str("id") + "\x85R", {}),
          "'os.system'");
  expect_error<DataError>([&] { read_weights(dir_.file("none.pth")); },
                          "none.pth");
}

TEST_F(WeightsTest, LoadsABackbone) {
  for (const std::string prefix : {"", "model.", "module.backbone."}) {
    SmallBackbone backbone;
    const WeightReport report =
        load_weights(save(small_weights(prefix)), backbone);
    EXPECT_EQ(report.matched.size(), 5u);
    EXPECT_TRUE(report.missing.empty());
    EXPECT_TRUE(report.unexpected.empty());
    EXPECT_TRUE(report.mismatched.empty());
    EXPECT_EQ(report.summary(), "5 of 5 tensors loaded");
    const NamedTensors expected = small_weights("");
    const auto parameters = backbone.named_parameters();
    EXPECT_TRUE(torch::equal(parameters["conv.weight"],
                             expected[0].second.to(at::kFloat)));
    EXPECT_TRUE(parameters["conv.weight"].requires_grad());
    EXPECT_TRUE(torch::equal(backbone.named_buffers()["norm.running_var"],
                             expected[4].second.to(at::kFloat)));
  }
}

TEST_F(WeightsTest, ConvertsToTheParametersType) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16, at::kDouble}) {
    NamedTensors weights = small_weights("");
    for (auto& [name, tensor] : weights) tensor = tensor.to(type);
    SmallBackbone backbone;
    load_weights(save(weights), backbone);
    const Tensor bias = backbone.named_parameters()["norm.bias"];
    EXPECT_EQ(bias.scalar_type(), at::kFloat);
    EXPECT_EQ(bias[1].item<float>(), 4);
  }
}

TEST_F(WeightsTest, RefusesBrokenNumbers) {
  for (const float bad : {NAN, INFINITY}) {
    NamedTensors weights = small_weights("");
    weights.back().second.fill_(bad);
    SmallBackbone backbone;
    expect_error<DataError>([&] { load_weights(save(weights), backbone); },
                            weights.back().first, "NaN or infinite");
  }
}

TEST_F(WeightsTest, ReportsWhatDoesNotFit) {
  NamedTensors weights = small_weights("module.");
  weights[0].second = torch::zeros({2, 1, 1, 1});
  weights.pop_back();
  weights.emplace_back("module.fc.weight", torch::zeros({2}));
  SmallBackbone backbone;
  const Tensor before = backbone.named_parameters()["conv.weight"].clone();
  const WeightReport report = load_weights(save(weights), backbone);
  EXPECT_EQ(report.matched,
            (Names{"norm.weight", "norm.bias", "norm.running_mean"}));
  EXPECT_EQ(report.missing, Names{"norm.running_var"});
  EXPECT_EQ(report.unexpected, Names{"fc.weight"});
  EXPECT_EQ(report.mismatched, Names{"conv.weight: [2, 1, 1, 1] in the file, "
                                     "[2, 3, 1, 1] in the model"});
  EXPECT_EQ(report.summary(),
            "3 of 5 tensors loaded; missing 1: norm.running_var; other shape "
            "1: conv.weight: [2, 1, 1, 1] in the file, [2, 3, 1, 1] in the "
            "model; not used 1: fc.weight");
  EXPECT_TRUE(torch::equal(backbone.named_parameters()["conv.weight"], before));
}

TEST_F(WeightsTest, SummaryIsShort) {
  WeightReport report;
  for (int i = 0; i < 9; ++i) report.missing.push_back(std::to_string(i));
  EXPECT_EQ(report.summary(), "0 of 9 tensors loaded; missing 9: 0, 1, 2, ...");
}

TEST_F(WeightsTest, LetsTheBackboneAdaptNames) {
  SmallBackbone backbone;
  const WeightReport report = load_weights(
      save({{"model.stem.weight", torch::ones({2, 3, 1, 1})}}), backbone);
  EXPECT_EQ(report.matched, Names{"conv.weight"});
  EXPECT_EQ(backbone.named_parameters()["conv.weight"].sum().item<float>(), 6);
}

TEST_F(WeightsTest, FailsIfNothingFits) {
  SmallBackbone backbone;
  const std::string path = save_scalars({"features.0.weight", "x", "y", "z"});
  expect_error<DataError>([&] { load_weights(path, backbone); }, path,
                          "no tensor fits", "4: features.0.weight, x, y, ...",
                          "6: conv.weight, norm.weight, norm.bias, ...");
}

}  // namespace
}  // namespace kith
