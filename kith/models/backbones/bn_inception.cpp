#include <torch/torch.h>

#include "kith/models/inception.h"
#include "kith/models/pretrained_input.h"

namespace kith {
namespace {

/// Channels of a block: those of a 1x1 convolution, of a 3x3 and a pair of 3x3
/// behind a 1x1 one that reduces, and of a 1x1 one behind a pool.
struct BnBlock {
  enum class Pool { kAverage, kMax };

  std::string name;
  int64_t one;  ///< 0: the block halves the map and has 3x3 and pool alone.
  int64_t reduce_three;
  int64_t three;
  int64_t reduce_double;
  int64_t twice;
  int64_t pool;
  Pool kind = Pool::kAverage;
};

std::vector<BnBlock> bn_inception_blocks() {
  return {{"3a", 64, 64, 64, 64, 96, 32},
          {"3b", 64, 64, 96, 64, 96, 64},
          {"3c", 0, 128, 160, 64, 96, 0},
          {"4a", 224, 64, 96, 96, 128, 128},
          {"4b", 192, 96, 128, 96, 128, 128},
          {"4c", 160, 128, 160, 128, 160, 128},
          {"4d", 96, 128, 192, 160, 192, 128},
          {"4e", 0, 128, 192, 192, 256, 0},
          {"5a", 352, 192, 320, 160, 224, 128},
          {"5b", 352, 192, 320, 192, 224, 128, BnBlock::Pool::kMax}};
}

/// Zeros count in the average at the edges.
Tensor average_around(const Tensor& x) { return torch::avg_pool2d(x, 3, 1, 1); }

/// A 3x3 convolution with stride 2 gives ceil(H / 2) rows, the pool beside it
/// one less where H is odd. One more row makes them equal; it is of zeros,
/// which change no maximum, because nothing behind ReLU is negative. The same
/// for columns.
Tensor halve_beside_convolution(const Tensor& x) {
  static const Layer pool = halve();
  return pool(torch::constant_pad_nd(x, {0, x.size(3) % 2, 0, x.size(2) % 2}));
}

/// Adds layers and blocks to a network.
class BnInceptionMaker {
 public:
  BnInceptionMaker(torch::nn::Module& owner, std::string batch_norm)
      : owner_(owner), batch_norm_(std::move(batch_norm)) {}

  /// Convolution with a bias that batch norm makes idle, batch norm, ReLU.
  Layer conv(const std::string& name, ConvShape shape) {
    shape.bias = true;
    shape.momentum = 0.9;  // As in the published code.
    return [pair = ConvNorm(owner_, name, name + "_bn", shape, batch_norm_)](
               const Tensor& x) mutable { return pair(x, Activation::kRelu); };
  }

  Layer halving(const BnBlock& block, int64_t in) {
    std::vector<Path> paths = wide_paths(block, in, 2);
    paths.push_back({halve_beside_convolution});
    return inception_block(std::move(paths));
  }

  Layer keeping(const BnBlock& block, int64_t in) {
    const std::string name = "inception_" + block.name;
    std::vector<Path> paths = {
        {conv(name + "_1x1", {.in = in, .out = block.one, .kernel = 1})}};
    for (Path& path : wide_paths(block, in, 1)) paths.push_back(path);
    paths.push_back(
        {block.kind == BnBlock::Pool::kMax ? max_around : average_around,
         conv(name + "_pool_proj",
              {.in = in, .out = block.pool, .kernel = 1})});
    return inception_block(std::move(paths));
  }

 private:
  /// The paths with 3x3 convolutions.
  std::vector<Path> wide_paths(const BnBlock& block, int64_t in,
                               int64_t stride) {
    const std::string name = "inception_" + block.name;
    const int64_t middle = block.reduce_three;
    const int64_t reduced = block.reduce_double;
    return {{conv(name + "_3x3_reduce", {.in = in, .out = middle, .kernel = 1}),
             conv(name + "_3x3",
                  {.in = middle, .out = block.three, .stride = stride})},
            {conv(name + "_double_3x3_reduce",
                  {.in = in, .out = reduced, .kernel = 1}),
             conv(name + "_double_3x3_1", {.in = reduced, .out = block.twice}),
             conv(name + "_double_3x3_2",
                  {.in = block.twice, .out = block.twice, .stride = stride})}};
  }

  torch::nn::Module& owner_;
  std::string batch_norm_;
};

/// Bytes less (104, 117, 128), as in Caffe.
const bool bn_inception_input_added = add_pretrained_input(
    "bn_inception", {"bgr",
                     {104 / 255.0, 117 / 255.0, 128 / 255.0},
                     {1 / 255.0, 1 / 255.0, 1 / 255.0}});

}  // namespace

BnInception::BnInception(Options, const BackboneInput& input)
    : InceptionNet("conv1_7x7_s2.weight", input.channels) {
  BnInceptionMaker add(*this, input.batch_norm);
  InceptionLayers layers;
  layers.stem = {
      add.conv("conv1_7x7_s2",
               {.in = input.channels, .out = 64, .kernel = 7, .stride = 2}),
      halve(), add.conv("conv2_3x3_reduce", {.in = 64, .out = 64, .kernel = 1}),
      add.conv("conv2_3x3", {.in = 64, .out = 192}), halve()};
  int64_t in = 192;
  for (const BnBlock& block : bn_inception_blocks()) {
    Path& path = block.name.front() == '3' ? layers.early : layers.late;
    path.push_back(block.one == 0 ? add.halving(block, in)
                                  : add.keeping(block, in));
    in = block.one + block.three + block.twice +
         (block.one == 0 ? in : block.pool);
  }
  set_layers(std::move(layers));
}

KITH_REGISTER(backbone_registry(), "bn_inception", BnInception);

}  // namespace kith
