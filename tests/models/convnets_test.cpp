// What every family of convolutional networks must do, in tiny shapes.

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbone.h"
#include "kith/models/backbones.h"
#include "kith/models/conv_norm.h"
#include "kith/models/pretrained_input.h"
#include "kith/models/weights.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

struct TinyNet {
  const char* title;
  const char* section;
  int64_t features;
  const char* first;         ///< The weights that see the pictures.
  bool rounds_down = false;  ///< Maps of odd sides; the others round up.
  int halvings = 4;
};

const TinyNet kTinyNets[] = {
    {"resnet_basic",
     "{name: resnet18, depths: [1, 1, 1], stem: 8, widths: "
     "[8, 8, 12]}",
     12, "conv1.weight"},
    {"resnet_groups",
     "{name: resnext50_32x4d, depths: [1, 1, 1], stem: 8, "
     "widths: [8, 8, 12], groups: 2, width_per_group: 32}",
     48, "conv1.weight"},
    {"resnet_stride_first",
     "{name: resnet, depths: [1, 1, 1], stem: 8, widths: [8, 8, 8], stride: "
     "1x1}",
     32, "conv1.weight"},
    {"convnext",
     "{name: convnext, depths: [1, 1, 1], widths: [8, 8, 12], "
     "layer_scale: 0.5}",
     12, "features.0.0.weight", true},
    {"convnext_v2",
     "{name: convnext_v2_tiny, depths: [1, 1, 1], widths: [8, 8, "
     "12], norm_map: true}",
     12, "features.0.0.weight", true},
    {"efficientnet",
     "{name: efficientnet, stem: 8, depths: [1, 2, 1], widths: "
     "[8, 8, 12], expand: [1, 2, 2], kernels: [3, 5, 3], "
     "strides: [2, 2, 2], last: 16}",
     16, "features.0.0.weight"},
    {"efficientnet_fused",
     "{name: efficientnet_v2_s, stem: 8, depths: [1, 2, 1], widths: [8, 8, "
     "12], expand: [1, 2, 2], kernels: [3, 5, 3], strides: [2, 2, 2], last: "
     "16, fused: 2}",
     16, "features.0.0.weight"},
    {"efficientnet_same",
     "{name: tf_efficientnet_b0, stem: 8, depths: [1, 2, 1], widths: [8, 8, "
     "12], expand: [1, 2, 2], kernels: [3, 5, 3], strides: [2, 2, 2], last: "
     "16}",
     16, "features.0.0.weight"},
    {"mobilenet_v3",
     "{name: mobilenet_v3, stem: 8, depths: [1, 2, 1], widths: "
     "[8, 8, 12], inner: [8, 16, 24, 24], kernels: [3, 5, 3], "
     "strides: [2, 2, 2], squeeze: [1, 0, 1], relu_stages: 2, "
     "last: 16}",
     16, "features.0.0.weight"},
    {"regnet_y",
     "{name: regnet_y_400mf, stem: 8, depths: [1, 2, 1], widths: "
     "[8, 8, 16], group_width: 8}",
     16, "stem.0.weight"},
    {"regnet_x",
     "{name: regnet, stem: 8, depths: [1, 2, 1], widths: [8, 8, "
     "16], group_width: 4, squeeze: 0}",
     16, "stem.0.weight"}};

void PrintTo(const TinyNet& net, std::ostream* out) { *out << net.title; }

std::shared_ptr<Backbone> make_tiny(const std::string& section,
                                    const BackboneInput& input) {
  torch::manual_seed(3);
  return backbone_registry().make(parse_config(section, "test"),
                                  "model.backbone", input);
}

class TinyConvnet : public ::testing::TestWithParam<TinyNet> {
 protected:
  std::shared_ptr<Backbone> make(const std::string& batch_norm,
                                 int64_t channels = 3) {
    return make_tiny(GetParam().section, {channels, 64, batch_norm});
  }
};

TEST_P(TinyConvnet, TakesPicturesOfAnySize) {
  const TinyNet& tiny = GetParam();
  const auto net = make("stats");
  EXPECT_EQ(net->fixed_size(), "");
  EXPECT_EQ(net->features(), tiny.features);
  const torch::NoGradGuard no_grad;
  for (const int64_t side : {16, 17, 31, 50}) {
    SCOPED_TRACE(side);
    const Features out =
        net->forward(random_normal({2, 3, side, 64}, 1, at::kFloat));
    const auto expected = [&](int64_t size) {
      return tiny.rounds_down ? size / 16 : (size + 15) / 16;
    };
    EXPECT_EQ(out.map.sizes(),
              (std::vector<int64_t>{2, tiny.features, expected(side), 4}));
    EXPECT_TRUE(torch::isfinite(out.map).all().item<bool>());
    EXPECT_EQ(out.token.defined(), net->has_token());
    if (out.token.defined()) {
      EXPECT_EQ(out.token.sizes(), (std::vector<int64_t>{2, tiny.features}));
    }
  }
}

TEST_P(TinyConvnet, GradientsReachEveryParameterThatTrains) {
  for (const std::string bn : {"train", "sync", "stats", "all"}) {
    SCOPED_TRACE(bn);
    const auto net = make(bn);
    set_training(*net, true, bn);
    const Features out =
        net->forward(random_normal({4, 3, 48, 33}, 1, at::kFloat));
    Tensor sum = (out.map * random_normal(out.map.sizes().vec(), 2)).sum();
    if (net->has_token()) {
      sum = sum + (out.token * random_normal(out.token.sizes().vec(), 3)).sum();
    }
    sum.backward();
    for (const auto& entry : net->named_parameters()) {
      const Tensor& grad = entry.value().grad();
      EXPECT_EQ(grad.defined(), entry.value().requires_grad()) << entry.key();
      if (!grad.defined()) continue;
      EXPECT_TRUE(torch::isfinite(grad).all().item<bool>()) << entry.key();
    }
  }
}

// Batch norm with kept statistics is folded; alone, ranks share nothing.
TEST_P(TinyConvnet, KindsOfBatchNormAgree) {
  const Tensor images = random_normal({4, 3, 48, 48}, 1, at::kFloat);
  const auto value = [&](const std::string& bn, bool training) {
    const auto net = make(bn);
    set_training(*net, training, bn);
    return net->forward(images).map.detach();
  };
  const Tensor evaluated = value("train", false);
  EXPECT_TRUE(torch::equal(value("stats", true), evaluated));
  EXPECT_TRUE(torch::equal(value("all", true), evaluated));
  const Tensor trained = value("train", true);
  EXPECT_LE(max_difference(value("sync", true), trained),
            1e-4 * trained.abs().max().item<double>());
}

TEST_P(TinyConvnet, GivesTheSameWithoutAGraph) {
  const Tensor images = random_normal({2, 3, 40, 56}, 1, at::kFloat);
  const auto net = make("train");
  net->eval();
  const Features with_graph = net->forward(images);
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::equal(net->forward(images).map, with_graph.map));
}

TEST_P(TinyConvnet, MixesAtItsPoints) {
  const auto net = make("stats");
  EXPECT_EQ(net->mix_points(), 3);
  const torch::NoGradGuard no_grad;
  const Tensor images = random_normal({2, 3, 64, 64}, 1, at::kFloat);
  const Tensor partner = torch::tensor({1, 0}, torch::kLong);
  const Tensor plain = net->forward(images).map;
  const double scale = plain.abs().max().item<double>();
  std::vector<Tensor> seen = {plain, plain.index_select(0, partner)};
  for (int64_t point = 0; point < net->mix_points(); ++point) {
    SCOPED_TRACE(point);
    EXPECT_LE(
        max_difference(seen[1], net->forward(images, {0, point, partner}).map),
        1e-5 * scale);
    const Tensor mixed = net->forward(images, {0.7, point, partner}).map;
    for (const Tensor& other : seen) {
      EXPECT_GT(max_difference(mixed, other), 1e-5 * scale);
    }
    seen.push_back(mixed);
  }
}

TEST_P(TinyConvnet, ColourWeightsFitAGreyModel) {
  const auto net = make("train", 1);
  const Tensor weight = net->named_parameters()[GetParam().first];
  std::vector<int64_t> sizes = weight.sizes().vec();
  sizes[1] = 3;
  NamedTensors file = {{GetParam().first, torch::ones(sizes)}};
  net->adapt_weights(file);
  EXPECT_EQ(file[0].second.sizes(), weight.sizes());
  EXPECT_EQ(file[0].second.min().item<float>(), 3);
}

// A stage that is not mentioned keeps what the shape has; the error names the
// key as the configuration has it.
TEST_P(TinyConvnet, RefusesListsThatDoNotFit) {
  std::string section = GetParam().section;
  const size_t at = section.find("widths: [8, ");
  ASSERT_NE(at, std::string::npos);
  section.replace(at, 12, "widths: [");
  expect_error<ConfigError>(
      [&] {
        make_tiny(section, {3, 64, "train"});
      },
      "'model.backbone.widths'",
      "each of the 3 stages of 'model.backbone.depths'");
}

INSTANTIATE_TEST_SUITE_P(All, TinyConvnet, ::testing::ValuesIn(kTinyNets),
                         [](const auto& net) { return net.param.title; });

TEST(Convnets, ShapesAreOptions) {
  const auto complete = [](const std::string& section) {
    return to_yaml(backbone_registry().complete(parse_config(section, "test"),
                                                "model.backbone"));
  };
  EXPECT_EQ(complete("{name: resnext101_32x8d}"),
            complete("{name: resnext101_32x8d, groups: 32, width_per_group: 8, "
                     "depths: [3, 4, 23, 3]}"));
  EXPECT_EQ(complete("{name: regnety_160}"), complete("{name: regnet_y_16gf}"));
  EXPECT_EQ(complete("{name: convnextv2_base}"),
            complete("{name: convnext_v2_base}"));
}

TEST(Convnets, SomeWeightsNeedOtherInput) {
  const auto input = [](const std::string& section) {
    return pretrained_input(parse_config(section, "test"));
  };
  const PretrainedInput caffe = input("{name: resnet50_caffe}");
  EXPECT_EQ(caffe.colour, "bgr");
  EXPECT_NEAR(255 * caffe.mean[0], 103.939, 1e-9);
  EXPECT_NEAR(255 * caffe.std[0], 1, 1e-9);
  EXPECT_EQ(input("{name: tf_efficientnetv2_s}").mean[0], 0.5);
  EXPECT_EQ(input("{name: efficientnet_v2_s}").mean[0], 0.485);
}

// What a file with all tensors of a known network is found to be by another
// network of its family.
TEST(Convnets, KnowTheNetworkOfAFile) {
  const auto found = [](const std::string& tiny, const std::string& name) {
    const auto file = make_tiny("{name: " + name + "}", {3, 64, "train"});
    NamedTensors weights;
    for (const auto& t : file->named_parameters()) {
      weights.emplace_back(t.key(), t.value());
    }
    const auto net = make_tiny(tiny, {3, 64, "train"});
    net->adapt_weights(weights);
    const std::string words = net->network_of(weights);
    return words.substr(0, words.find(' '));
  };
  for (const std::string name : {"resnet18", "resnet34", "resnext50_32x4d"}) {
    EXPECT_EQ(found(kTinyNets[1].section, name), name);
  }
  for (const std::string name : {"convnext_atto", "convnext_v2_femto"}) {
    EXPECT_EQ(found(kTinyNets[3].section, name), name);
  }
  for (const std::string name : {"efficientnet_b0", "efficientnet_b2"}) {
    EXPECT_EQ(found(kTinyNets[5].section, name), name);
  }
  for (const std::string name : {"regnet_y_400mf", "regnet_x_800mf"}) {
    EXPECT_EQ(found(kTinyNets[9].section, name), name);
  }
  const auto net = make_tiny(kTinyNets[0].section, {3, 64, "train"});
  EXPECT_EQ(net->network_of({{"a.weight", torch::zeros({2})}}), "");
  EXPECT_EQ(net->network_of({{"layer1.99999999999999999999.x", Tensor()},
                             {"layer1.0.conv2.weight", torch::zeros({4})}})
                .substr(0, 6),
            "resnet");
}

TEST(Convnets, RefuseOptionsThatMakeNoNetwork) {
  const auto make = [](const std::string& section, int64_t size = 64) {
    make_tiny(section, {3, size, "train"});
  };
  expect_error<ConfigError>([&] { make("{name: resnet18, groups: 2}"); },
                            "'model.backbone.groups' must be 1", "basic");
  expect_error<ConfigError>(
      [&] {
        make("{name: resnet50, widths: [8, 8, 8, 8], width_per_group: 4}");
      },
      "'model.backbone.width_per_group' must be at least 8");
  expect_error<ConfigError>([&] { make("{name: regnet, group_width: 10}"); },
                            "'model.backbone.widths' must be multiples of the "
                            "10");
  expect_error<ConfigError>([&] { make("{name: convnext_atto}", 16); },
                            "'model.input.size' must be at least 32");
  expect_error<ConfigError>(
      [&] { make("{name: efficientnet, kernels: [3, 3, 4, 3, 5, 5, 3]}"); },
      "'model.backbone.kernels' must be odd, got 4");
  expect_error<ConfigError>(
      [&] { make("{name: mobilenet_v3, inner: [8, 8]}"); },
      "each of the 15 blocks");
}

TEST(Convnets, ConvnextRefusesPicturesThatAreTooSmall) {
  const auto net = make_tiny(kTinyNets[3].section, {3, 64, "train"});
  expect_error<c10::Error>(
      [&] {
        net->forward(torch::zeros({1, 3, 64, 15}));
      },
      "at least 16 x 16 pixels");
}

TEST(Convnets, KerasBiasesGoIntoBatchNorm) {
  const auto net = make_tiny(kTinyNets[1].section, {3, 64, "stats"});
  const torch::NoGradGuard no_grad;
  for (const auto& entry : net->named_buffers()) {
    if (entry.key().ends_with("running_mean")) entry.value().normal_();
  }
  const Tensor images = random_normal({1, 3, 64, 64}, 1, at::kFloat);
  const Tensor plain = net->forward(images).map;
  // A file whose convolutions add what its batch norm takes away again.
  NamedTensors file;
  for (const auto& t : net->named_parameters()) {
    file.emplace_back(t.key(), t.value().clone());
  }
  for (const auto& t : net->named_buffers()) {
    const bool is_mean = t.key().ends_with("running_mean");
    file.emplace_back(t.key(), is_mean ? t.value() + 0.5 : t.value().clone());
    if (!is_mean) continue;
    std::string conv = t.key().substr(0, t.key().size() - 13);
    const size_t at = conv.rfind("bn");
    if (at == std::string::npos) {
      conv.back() = '0';  // downsample.1
    } else {
      conv.replace(at, 2, "conv");
    }
    file.emplace_back(conv + ".bias", torch::full_like(t.value(), 0.5));
  }
  net->adapt_weights(file);
  NamedTensors targets;
  for (const auto& t : net->named_parameters()) {
    targets.emplace_back(t.key(), t.value());
  }
  for (const auto& t : net->named_buffers()) {
    targets.emplace_back(t.key(), t.value());
  }
  const WeightReport report = copy_weights("file", file, targets);
  EXPECT_TRUE(report.unexpected.empty()) << report.summary();
  EXPECT_TRUE(report.missing.empty()) << report.summary();
  EXPECT_LE(max_difference(net->forward(images).map, plain),
            1e-5 * plain.abs().max().item<double>());
}

}  // namespace
}  // namespace kith
