#include "kith/models/mobilenet_v3.h"

#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/pretrained_input.h"
#include "kith/models/published_name.h"

namespace kith {

void MobilenetV3Options::describe(OptionSet& set) {
  set.add("stem", stem, "Channels of the first convolution.").range(1, 8192);
  set.add("depths", depths, "Blocks of each stage.").range(1, 200).not_empty();
  set.add("widths", widths, "Channels of each stage.")
      .range(1, 8192)
      .not_empty();
  set.add("inner", inner, "Channels inside each block of all stages.")
      .range(1, 8192)
      .not_empty();
  set.add("kernels", kernels, "Side of a stage's kernels; odd.").range(1, 31);
  set.add("strides", strides, "Stride of a stage's first block.").range(1, 2);
  set.add("squeeze", squeeze, "1: a stage has squeeze and excitation; 0: not.")
      .range(0, 1);
  set.add("relu_stages", relu_stages,
          "The first stages, which have ReLU; the others have hard swish.")
      .range(0, 100);
  set.add("last", last, "Channels of the last convolution.").range(1, 16384);
  set.add("padding", padding,
          "Of convolutions with a stride: symmetric (PyTorch) or same "
          "(TensorFlow).")
      .choices({"symmetric", "same"});
  set.add("bn_eps", bn_eps, "Of batch norm.").positive();
  set.add("bn_momentum", bn_momentum,
          "Share of a batch in batch norm's running statistics.")
      .range(0, 1);
}

namespace {

MobilenetV3Options checked_mobilenet(MobilenetV3Options options) {
  options = checked(std::move(options), "mobilenet_v3");
  check_stages("mobilenet_v3", options.depths,
               {{"widths", &options.widths},
                {"kernels", &options.kernels},
                {"strides", &options.strides},
                {"squeeze", &options.squeeze}});
  check_kernels("mobilenet_v3", options.kernels);
  size_t blocks = 0;
  for (const int64_t depth : options.depths) {
    blocks += static_cast<size_t>(depth);
  }
  if (options.inner.size() != blocks) {
    throw ConfigError(
        "'mobilenet_v3.inner' must have an entry for each of the " +
        std::to_string(blocks) + " blocks of 'mobilenet_v3.depths', got " +
        std::to_string(options.inner.size()));
  }
  return options;
}

/// A quarter as a multiple of 8, and no more than a tenth below.
int64_t squeezed_quarter(int64_t channels) {
  const int64_t quarter = channels / 4;
  const int64_t near = std::max<int64_t>(8, (quarter + 4) / 8 * 8);
  return 10 * near < 9 * quarter ? near + 8 : near;
}

}  // namespace

MobilenetV3::MobilenetV3(Options options, const BackboneInput& input)
    : options_(checked_mobilenet(std::move(options))),
      channels_(input.channels) {
  const InvertedNorm norm = {options_.padding, options_.bn_eps,
                             options_.bn_momentum, input.batch_norm};
  const auto names = add_named_module(*this, "features");
  const auto next_name = [&] {
    return std::to_string(names->children().size());
  };
  stem_ = PaddedConvNorm(*add_named_module(*names, next_name()),
                         {.in = channels_, .out = options_.stem, .stride = 2},
                         norm);
  InvertedShape shape = {.in = options_.stem};
  shape.squeeze_activation = Activation::kRelu;
  shape.squeeze_gate = "hardsigmoid";
  for (size_t s = 0; s < options_.depths.size(); ++s) {
    shape.kernel = options_.kernels[s];
    shape.out = options_.widths[s];
    shape.stride = options_.strides[s];
    const bool has_relu = static_cast<int64_t>(s) < options_.relu_stages;
    shape.activation = has_relu ? Activation::kRelu : Activation::kHardswish;
    for (int64_t i = 0; i < options_.depths[s]; ++i) {
      shape.inner = options_.inner[blocks_.size()];
      shape.squeezed =
          options_.squeeze[s] == 1 ? squeezed_quarter(shape.inner) : 0;
      blocks_.push_back(names->register_module(
          next_name(), std::make_shared<InvertedBlock>(shape, norm)));
      shape.in = shape.out;
      shape.stride = 1;
    }
  }
  last_ =
      PaddedConvNorm(*add_named_module(*names, next_name()),
                     {.in = shape.in, .out = options_.last, .kernel = 1}, norm);
}

int64_t MobilenetV3::mix_points() const {
  return std::clamp<int64_t>(static_cast<int64_t>(options_.depths.size()), 1,
                             3);
}

Features MobilenetV3::run(const Tensor& images, const Mixing& mixing) {
  Tensor x = stem_(images, Activation::kHardswish);
  size_t place = 0;
  for (size_t s = 0; s < options_.depths.size(); ++s) {
    for (int64_t i = 0; i < options_.depths[s]; ++i) {
      x = blocks_[place++]->forward(x);
    }
    if (s > 0) x = mixing(static_cast<int64_t>(s), x);
  }
  return {last_(x, Activation::kHardswish), {}};
}

void MobilenetV3::adapt_weights(NamedTensors& weights) const {
  const std::string last = "features." + std::to_string(blocks_.size() + 1);
  // timm counts the last convolution as a stage.
  const std::string head =
      "blocks." + std::to_string(options_.depths.size()) + ".0.";
  OtherNames names = {{"conv_stem", "features.0.0"},
                      {"bn1", "features.0.1"},
                      {head + "conv", last + ".0"},
                      {head + "bn1", last + ".1"}};
  size_t place = 0;
  for (size_t s = 0; s < options_.depths.size(); ++s) {
    for (int64_t i = 0; i < options_.depths[s]; ++i, ++place) {
      blocks_[place]->add_timm_names(
          names, "blocks." + std::to_string(s) + "." + std::to_string(i) + ".",
          "features." + std::to_string(place + 1) + ".");
    }
  }
  rename_tensors(weights, names);
  fit_unit_dimensions(weights, *this);
  adapt_channels(weights, "features.0.0.weight", channels_);
}

namespace {

void add_mobilenet(const std::string& size, MobilenetV3Options options) {
  auto& registry = backbone_registry();
  const std::string features = std::to_string(options.last) + " features";
  registry.add_shape<MobilenetV3>("mobilenet_v3_" + size,
                                  "MobileNetV3, " + size + ", " + features,
                                  options);
  // timm's have a layer behind the pooling that this network lacks.
  add_published_name({"torchvision", "mobilenet_v3_" + size});
  options.padding = "same";
  const std::string from_tf = "tf_mobilenetv3_" + size + "_100";
  registry.add_shape<MobilenetV3>(
      from_tf, "MobileNetV3 of TensorFlow, " + size + ", " + features, options);
  add_pretrained_input(from_tf, {"rgb", {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}});
  options.padding = "symmetric";
  options.bn_eps = 1e-5;
  options.bn_momentum = 0.1;
  registry.add_shape<MobilenetV3>(
      "mobilenetv3_" + size + "_100",
      "MobileNetV3 of timm, " + size + ", " + features, options);
}

bool add_mobilenets() {
  add_mobilenet("large", {});
  add_mobilenet("small",
                {.depths = {1, 2, 3, 2, 3},
                 .widths = {16, 24, 40, 48, 96},
                 .inner = {16, 72, 88, 96, 240, 240, 120, 144, 288, 576, 576},
                 .kernels = {3, 3, 5, 5, 5},
                 .strides = {2, 2, 2, 1, 2},
                 .squeeze = {1, 0, 1, 1, 1},
                 .relu_stages = 2,
                 .last = 576});
  return true;
}

const bool mobilenets_added = add_mobilenets();

}  // namespace

KITH_REGISTER(backbone_registry(), "mobilenet_v3", MobilenetV3);

}  // namespace kith
