#include <torch/torch.h>

#include "kith/models/inception.h"
#include "kith/models/pretrained_input.h"
#include "kith/models/published_name.h"

namespace kith {
namespace {

namespace nn = torch::nn;

/// Convolution, batch norm and ReLU under the names `name`.conv and `name`.bn.
Layer add_googlenet_conv(nn::Module& owner, const std::string& name,
                         ConvShape shape, const std::string& batch_norm) {
  shape.eps = 0.001;
  const auto names =
      owner.register_module(name, std::make_shared<nn::Module>());
  return [pair = ConvNorm(*names, "conv", "bn", shape, batch_norm)](
             const Tensor& x) mutable { return pair(x, Activation::kRelu); };
}

/// A block in which a 3x3 convolution stands in place of the 5x5 one.
class GooglenetBlock final : public nn::Module {
 public:
  GooglenetBlock(const GoogLeNetBlock& sizes, int64_t in,
                 const std::string& batch_norm) {
    const auto branch2 = add_names("branch2");
    const auto branch3 = add_names("branch3");
    const auto branch4 = add_names("branch4");
    const auto reduce = [&](nn::Module& owner, const char* name, int64_t out) {
      return add_googlenet_conv(
          owner, name, {.in = in, .out = out, .kernel = 1}, batch_norm);
    };
    const auto widen = [&](nn::Module& owner, int64_t from, int64_t out) {
      return add_googlenet_conv(owner, "1", {.in = from, .out = out},
                                batch_norm);
    };
    layer_ =
        inception_block({{reduce(*this, "branch1", sizes.one)},
                         {reduce(*branch2, "0", sizes.reduce_three),
                          widen(*branch2, sizes.reduce_three, sizes.three)},
                         {reduce(*branch3, "0", sizes.reduce_five),
                          widen(*branch3, sizes.reduce_five, sizes.five)},
                         {max_around, reduce(*branch4, "1", sizes.pool)}});
  }

  const Layer& layer() const { return layer_; }

 private:
  std::shared_ptr<nn::Module> add_names(const std::string& name) {
    return register_module(name, std::make_shared<nn::Module>());
  }

  Layer layer_;
};

/// Values from -1 to 1.
const bool googlenet_input_added = add_pretrained_input(
    "googlenet", {"rgb", {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}});

const bool googlenet_published =
    add_published_name({"torchvision", "googlenet"});

}  // namespace

Googlenet::Googlenet(Options, const BackboneInput& input)
    : InceptionNet("conv1.conv.weight", input.channels) {
  const auto conv = [&](const char* name, const ConvShape& shape) {
    return add_googlenet_conv(*this, name, shape, input.batch_norm);
  };
  InceptionLayers layers;
  layers.stem = {
      conv("conv1",
           {.in = input.channels, .out = 64, .kernel = 7, .stride = 2}),
      halve(), conv("conv2", {.in = 64, .out = 64, .kernel = 1}),
      conv("conv3", {.in = 64, .out = 192}), halve()};
  add_googlenet_blocks(layers, 2, [&](const GoogLeNetBlock& sizes, int64_t in) {
    const auto block =
        std::make_shared<GooglenetBlock>(sizes, in, input.batch_norm);
    return register_module("inception" + sizes.name, block)->layer();
  });
  set_layers(std::move(layers));
}

KITH_REGISTER(backbone_registry(), "googlenet", Googlenet);

}  // namespace kith
