// Small convolutional networks with random weights under the names of their
// source, run by that source (tests/python/make_convnet_golden.py): what they
// make of pictures of two sizes, and gradients.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/models/backbone.h"
#include "kith/models/published_config.h"
#include "kith/models/weights.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/golden.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> convnet_items() {
  std::vector<std::string> items = golden_items();
  std::erase_if(items, [](const std::string& item) {
    return !item.starts_with("convnet_");
  });
  return items;
}

std::string golden_file(const std::string& item, const std::string& file) {
  return golden_dir() + "/" + item + "/" + file;
}

Json convnet_meta(const std::string& item) {
  std::ifstream file(golden_file(item, "meta.json"));
  return Json::parse(file);
}

/// The network's section: written down, or what the source's config means.
ConfigNode section_of(const Json& meta) {
  if (meta.contains("backbone")) {
    return parse_config(meta.at("backbone").dump(), "golden");
  }
  const Json& config = meta.at("config");
  return read_published(config.at("model_type"),
                        PublishedConfig("config.json", config));
}

std::shared_ptr<Backbone> convnet_of(const std::string& item,
                                     const std::string& batch_norm) {
  return backbone_registry().make(section_of(convnet_meta(item)),
                                  "model.backbone",
                                  BackboneInput{3, 64, batch_norm});
}

/// sin(step i) of the i-th number.
Tensor wave(at::IntArrayRef shape, double step) {
  return (step * torch::arange(c10::multiply_integers(shape), torch::kDouble))
      .sin()
      .view(shape);
}

/// The tensors of expected.safetensors that begin with a word, without it.
NamedTensors expected_of(const std::string& item, const std::string& word) {
  const SafetensorsFile file(golden_file(item, "expected.safetensors"));
  NamedTensors found;
  for (const SafetensorsEntry& entry : file.entries()) {
    if (!entry.name.starts_with(word)) continue;
    found.emplace_back(entry.name.substr(word.size()),
                       to_tensor(file.read(entry.name)));
  }
  return found;
}

void expect_close(const Tensor& value, const Tensor& expected, double part,
                  const std::string& what) {
  ASSERT_EQ(value.sizes(), expected.sizes()) << what;
  const double largest = expected.abs().max().item<double>();
  EXPECT_GT(largest, 1e-4) << what;
  EXPECT_LE(max_difference(value, expected), part * largest) << what;
}

class ConvnetGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(ConvnetGolden, TakesAllWeights) {
  const auto net = convnet_of(GetParam(), "train");
  const WeightReport report =
      load_weights(golden_file(GetParam(), "weights.safetensors"), *net);
  EXPECT_THAT(report.missing, ::testing::IsEmpty());
  EXPECT_THAT(report.mismatched, ::testing::IsEmpty());
  for (const std::string& name : report.unexpected) {
    EXPECT_TRUE(name.starts_with("classifier.") || name.starts_with("fc.") ||
                name.starts_with("head.") || name.starts_with("conv_head."))
        << name;
  }
}

/// Values and gradients of one size, in float32.
void expect_size(const std::string& item, Backbone& net, size_t k,
                 at::IntArrayRef size) {
  const std::string number = std::to_string(k);
  for (Tensor& parameter : net.parameters()) parameter.mutable_grad().reset();
  const Features features =
      net.forward(wave({2, 3, size[0], size[1]}, 0.7).to(torch::kFloat));
  Tensor loss = (features.map * wave(features.map.sizes(), 0.3)).sum();
  const auto maps = expected_of(item, "map_" + number);
  expect_close(features.map, maps.at(0).second, 1e-5, "map " + number);
  for (const auto& [name, token] : expected_of(item, "token_" + number)) {
    expect_close(features.token, token, 1e-5, "token " + number);
    loss = loss + (features.token * wave(token.sizes(), 0.3)).sum();
  }
  loss.backward();
  NamedTensors gradients = expected_of(item, "gradient_" + number + ".");
  ASSERT_GE(gradients.size(), 4u);
  net.adapt_weights(gradients);  // Names and shapes are those of weights.
  const auto parameters = net.named_parameters();
  for (const auto& [name, gradient] : gradients) {
    const Tensor* parameter = parameters.find(name);
    ASSERT_NE(parameter, nullptr) << name;
    expect_close(parameter->grad(), gradient, 1e-4, name);
  }
}

TEST_P(ConvnetGolden, EqualsItsSource) {
  const std::string item = GetParam();
  for (const std::string batch_norm : {"train", "stats"}) {
    SCOPED_TRACE(batch_norm);
    const auto net = convnet_of(item, batch_norm);
    load_weights(golden_file(item, "weights.safetensors"), *net);
    net->eval();
    const Json sizes = convnet_meta(item).at("sizes");
    for (size_t k = 0; k < sizes.size(); ++k) {
      expect_size(item, *net, k, sizes[k].get<std::vector<int64_t>>());
    }
  }
}

std::string family_of(const std::string& item) {
  return section_of(convnet_meta(item)).find("name")->scalar;
}

/// A copy of a golden file, changed.
std::string changed_file(const std::string& item,
                         const std::function<void(std::string&)>& change) {
  std::string bytes =
      read_file(golden_file(item, "weights.safetensors"), 1 << 20);
  change(bytes);
  const TempDir folder;
  const std::string path = folder.write("weights.safetensors", bytes);
  std::string message = "no error";
  try {
    load_weights(path, *convnet_of(item, "train"));
  } catch (const DataError& error) {
    message = error.what();
  }
  EXPECT_THAT(message, ::testing::HasSubstr(path));
  return message;
}

TEST_P(ConvnetGolden, DamagedFilesAreRefused) {
  const std::string item = GetParam();
  for (const size_t length :
       {size_t{0}, size_t{7}, size_t{100}, size_t{5000}}) {
    changed_file(item, [&](std::string& bytes) { bytes.resize(length); });
  }
  changed_file(item, [](std::string& bytes) { bytes.pop_back(); });
  // The header's length, and what it says of a tensor.
  changed_file(item, [](std::string& bytes) { bytes[6] = '\x7f'; });
  const std::string message = changed_file(item, [](std::string& bytes) {
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof(header));
    std::fill_n(bytes.begin() + 8 + static_cast<std::ptrdiff_t>(header), 16,
                '\xff');  // NaNs at the start of the first tensor
  });
  EXPECT_THAT(message, ::testing::HasSubstr("NaN"));
}

// Names that another family shares have other shapes; the report says which.
TEST_P(ConvnetGolden, TheFileOfAnotherFamilyIsRefused) {
  const std::string item = GetParam();
  const std::string own = family_of(item);
  for (const std::string other :
       {"{name: resnet, depths: [1], widths: [4], stem: 4}",
        "{name: convnext, depths: [1], widths: [4]}",
        "{name: regnet, depths: [1], widths: [4], stem: 4}",
        "{name: mobilenet_v3, stem: 4, depths: [1], widths: [4], inner: [4], "
        "kernels: [3], strides: [1], squeeze: [0], last: 4}"}) {
    const ConfigNode section = parse_config(other, "test");
    if (section.find("name")->scalar == own) continue;
    SCOPED_TRACE(other);
    const auto net = backbone_registry().make(section, "model.backbone",
                                              BackboneInput{3, 64, "train"});
    const std::string path = golden_file(item, "weights.safetensors");
    try {
      const WeightReport report = load_weights(path, *net);
      // By chance: a vector of the same length, and counters.
      EXPECT_LE(2 * report.matched.size(),
                report.missing.size() + report.mismatched.size());
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("no tensor fits"));
    }
  }
}

TEST_P(ConvnetGolden, AnotherWidthIsNamedWithBothShapes) {
  const std::string item = GetParam();
  ConfigNode section = section_of(convnet_meta(item));
  const std::string key = family_of(item) == "convnext" ? "patch" : "stem";
  section.set(key, ConfigNode::text("6"));
  const auto net = backbone_registry().make(section, "model.backbone",
                                            BackboneInput{3, 64, "train"});
  const WeightReport report =
      load_weights(golden_file(item, "weights.safetensors"), *net);
  ASSERT_FALSE(report.mismatched.empty());
  EXPECT_THAT(report.mismatched[0], ::testing::HasSubstr("in the file, ["));
}

// Tensors under the right names that are nothing like weights.
TEST_P(ConvnetGolden, OddTensorsFitNothing) {
  const std::string item = GetParam();
  const auto net = convnet_of(item, "train");
  const NamedTensors file =
      read_weights(golden_file(item, "weights.safetensors"));
  NamedTensors targets;
  for (const auto& t : net->named_parameters()) {
    if (t.value().numel() == 1) continue;  // which any number fits
    targets.emplace_back(t.key(), t.value());
  }
  for (const Tensor& odd :
       {torch::zeros({}), torch::zeros({0}), torch::zeros({1, 0, 3, 3, 1}),
        torch::ones({3, 5, 7}, torch::kLong),
        torch::ones({1009}, torch::kBool)}) {
    NamedTensors weights;
    for (const auto& [name, tensor] : file) weights.emplace_back(name, odd);
    net->adapt_weights(weights);
    EXPECT_THROW(copy_weights("odd", weights, targets), DataError);
  }
}

/// Whether the network of a changed config.json is refused by an error of
/// kith's; any other kind of error, or none, is wrong.
void expect_refused(Json config, const std::string& key, const Json& value) {
  config[key] = value;
  SCOPED_TRACE(config.dump());
  std::string message;
  try {
    const ConfigNode section = read_published(
        config.at("model_type"), PublishedConfig("config.json", config));
    backbone_registry().make(section, "model.backbone", {3, 64, "train"});
    ADD_FAILURE() << "was taken";
  } catch (const ConfigError& error) {
    message = error.what();
  } catch (const DataError& error) {
    message = error.what();
  }
  EXPECT_THAT(message, ::testing::HasSubstr("'"));  // names a key
}

const std::vector<std::string> kIntegerKeys = {"embedding_size", "groups_width",
                                               "patch_size", "hidden_dim",
                                               "depth_divisor"};
const std::vector<std::string> kListKeys = {
    "depths",  "hidden_sizes", "in_channels",       "out_channels",
    "strides", "kernel_sizes", "num_block_repeats", "expand_ratios"};
const std::vector<std::string> kNumberKeys = {
    "width_coefficient", "depth_coefficient", "batch_norm_eps",
    "squeeze_expansion_ratio"};

TEST(PublishedConvnets, HostileConfigsAreRefused) {
  const std::map<std::string, std::vector<std::string>> keys = {
      {"resnet", {"embedding_size", "depths", "hidden_sizes"}},
      {"regnet", {"embedding_size", "groups_width", "depths", "hidden_sizes"}},
      {"convnext", {"patch_size", "depths", "hidden_sizes"}},
      {"convnextv2", {"patch_size", "depths", "hidden_sizes"}},
      {"dinov3_convnext", {"depths", "hidden_sizes"}},
      {"efficientnet",
       {"hidden_dim", "depth_divisor", "in_channels", "out_channels", "strides",
        "kernel_sizes", "num_block_repeats", "expand_ratios",
        "width_coefficient", "depth_coefficient", "batch_norm_eps",
        "squeeze_expansion_ratio"}}};
  const auto has = [](const std::vector<std::string>& list,
                      const std::string& key) {
    return std::find(list.begin(), list.end(), key) != list.end();
  };
  for (const auto& [type, own] : keys) {
    const Json config = {{"model_type", type}};
    for (const char* act : {"tanh", "gelu_new"}) {
      expect_refused(config, "hidden_act", act);
    }
    for (const std::string& key : own) {
      expect_refused(config, key, "many");
      expect_refused(config, key, Json::object());
      if (has(kNumberKeys, key)) {
        expect_refused(config, key, -1e300);
        if (key != "batch_norm_eps") expect_refused(config, key, 1e300);
      }
      if (has(kIntegerKeys, key)) {
        for (const int64_t value :
             {int64_t{-1}, int64_t{0}, int64_t{1} << 62}) {
          expect_refused(config, key, value);
        }
        expect_refused(config, key, 18446744073709551615U);
      }
      if (!has(kListKeys, key)) continue;
      expect_refused(config, key, Json::array());
      expect_refused(config, key, Json::array({1}));
      expect_refused(config, key, Json::array({1, 2, "3", 4}));
      expect_refused(config, key, Json::array({-1, -1, -1, -1}));
      expect_refused(config, key, Json::array({int64_t{1} << 62, 8, 8, 8}));
      expect_refused(config, key, std::vector<int64_t>(1000, 8));
    }
  }
  expect_refused({{"model_type", "resnet"}}, "downsample_in_first_stage", true);
  expect_refused({{"model_type", "regnet"}}, "layer_type", "z");
  expect_refused({{"model_type", "swin"}}, "depths", Json::array({1}));
}

TEST(PublishedConvnets, AKeyThatIsAbsentHasItsDefault) {
  const auto options = [](const Json& config) {
    const ConfigNode section = read_published(
        config.at("model_type"), PublishedConfig("config.json", config));
    return to_yaml(backbone_registry().complete(section, "model.backbone"));
  };
  // Of each kind the default is a network that has a name.
  const auto named = [](const std::string& family, const std::string& section) {
    ConfigNode all = backbone_registry().complete(parse_config(section, "test"),
                                                  "model.backbone");
    all.set("name", ConfigNode::text(family));
    return to_yaml(all);
  };
  EXPECT_EQ(options({{"model_type", "resnet"}}),
            named("resnet", "{name: resnet50}"));
  EXPECT_EQ(options({{"model_type", "regnet"}}),
            named("regnet", "{name: regnety_040}"));
  EXPECT_EQ(options({{"model_type", "convnext"}}),
            named("convnext", "{name: convnext_tiny, last_eps: 1e-12}"));
  EXPECT_EQ(options({{"model_type", "convnextv2"}}),
            named("convnext", "{name: convnext_v2_tiny, last_eps: 1e-12}"));
  EXPECT_EQ(options({{"model_type", "dinov3_convnext"}}),
            named("convnext", "{name: dinov3_convnext_tiny}"));
  const Json b0 = {{"model_type", "efficientnet"}, {"width_coefficient", 1.0},
                   {"depth_coefficient", 1.0},     {"hidden_dim", 1280},
                   {"batch_norm_momentum", 0.99},  {"drop_connect_rate", 0}};
  EXPECT_EQ(options(b0),
            named("efficientnet", "{name: tf_efficientnet_b0, padding: even}"));
}

INSTANTIATE_TEST_SUITE_P(All, ConvnetGolden,
                         ::testing::ValuesIn(convnet_items()),
                         [](const auto& item) { return item.param; });

}  // namespace
}  // namespace kith
