#include <torch/torch.h>

#include "kith/models/adapt_weights.h"
#include "kith/models/inception.h"
#include "kith/models/pretrained_input.h"

namespace kith {
namespace {

namespace nn = torch::nn;

/// Local response normalisation (Krizhevsky et al., 2012) over 5 channels,
///
///     y_c = x_c (1 + 1e-4/5 sum_{|j - c| <= 2} x_j^2)^-0.75
Tensor normalise_response(const Tensor& x) {
  const Tensor squares = torch::constant_pad_nd(x.square(), {0, 0, 0, 0, 2, 2});
  Tensor sum = squares.narrow(1, 0, x.size(1));
  for (int64_t j = 1; j < 5; ++j) sum = sum + squares.narrow(1, j, x.size(1));
  // Automatic mixed precision computes powers in float32.
  return (x * (sum * (1e-4 / 5) + 1).pow(-0.75)).to(x.scalar_type());
}

/// Convolution with bias, and ReLU.
Layer add_v1_conv(nn::Module& owner, const std::string& name,
                  const ConvShape& shape) {
  const auto options = nn::Conv2dOptions(shape.in, shape.out, shape.kernel)
                           .stride(shape.stride)
                           .padding((shape.kernel - 1) / 2);
  nn::Conv2d added = owner.register_module(name, nn::Conv2d(options));
  // As in ConvNorm: the scale of the activations is kept.
  nn::init::kaiming_normal_(added->weight, 0.0, torch::kFanOut, torch::kReLU);
  nn::init::zeros_(added->bias);
  return [added](const Tensor& x) mutable { return added->forward(x).relu_(); };
}

Layer add_v1_block(nn::Module& owner, const GoogLeNetBlock& sizes, int64_t in) {
  const auto add = [&](const char* name, int64_t from, int64_t out,
                       int64_t kernel) {
    return add_v1_conv(owner, "inception_" + sizes.name + "_" + name,
                       {.in = from, .out = out, .kernel = kernel});
  };
  return inception_block({{add("1x1", in, sizes.one, 1)},
                          {add("3x3_reduce", in, sizes.reduce_three, 1),
                           add("3x3", sizes.reduce_three, sizes.three, 3)},
                          {add("5x5_reduce", in, sizes.reduce_five, 1),
                           add("5x5", sizes.reduce_five, sizes.five, 5)},
                          {max_around, add("pool_proj", in, sizes.pool, 1)}});
}

/// Bytes less (104, 117, 123), as in Caffe.
const bool inception_v1_input_added = add_pretrained_input(
    "inception_v1", {"bgr",
                     {104 / 255.0, 117 / 255.0, 123 / 255.0},
                     {1 / 255.0, 1 / 255.0, 1 / 255.0}});

}  // namespace

InceptionV1::InceptionV1(Options, const BackboneInput& input)
    : InceptionNet("conv1_7x7_s2.weight", input.channels) {
  InceptionLayers layers;
  layers.stem = {
      add_v1_conv(*this, "conv1_7x7_s2",
                  {.in = input.channels, .out = 64, .kernel = 7, .stride = 2}),
      halve(),
      normalise_response,
      add_v1_conv(*this, "conv2_3x3_reduce",
                  {.in = 64, .out = 64, .kernel = 1}),
      add_v1_conv(*this, "conv2_3x3", {.in = 64, .out = 192}),
      normalise_response,
      halve()};
  add_googlenet_blocks(layers, 3, [&](const GoogLeNetBlock& sizes, int64_t in) {
    return add_v1_block(*this, sizes, in);
  });
  set_layers(std::move(layers));
}

void InceptionV1::adapt_weights(NamedTensors& weights) const {
  rename_caffe_weights(weights);
  InceptionNet::adapt_weights(weights);
}

KITH_REGISTER(backbone_registry(), "inception_v1", InceptionV1);

}  // namespace kith
