#include <string>

#include "kith/models/convnext.h"

namespace kith {
namespace {

/// How others name the parts of a block, and kith.
struct BlockNames {
  std::string block;  ///< In front: "stages.0.blocks.0."
  const char* conv;
  const char* norm;
  const char* first;
  const char* second;
  const char* response_scale;
  const char* response_shift;
  const char* layer_scale;
};

void add_block_names(OtherNames& names, const BlockNames& their,
                     const std::string& ours) {
  names[their.block + their.conv] = ours + "block.0";
  names[their.block + their.norm] = ours + "block.2";
  names[their.block + their.first] = ours + "block.3";
  names[their.block + their.second] = ours + "block.5";
  names[their.block + their.response_scale] = ours + "block.grn.weight";
  names[their.block + their.response_shift] = ours + "block.grn.bias";
  names[their.block + their.layer_scale] = ours + "layer_scale";
}

/// In front of the two parts of what halves the map before a stage.
std::string halving_name(size_t stage) {
  return "features." + std::to_string(2 * stage) + ".";
}

std::string convnext_block_name(size_t stage, int64_t block) {
  return "features." + std::to_string(2 * stage + 1) + "." +
         std::to_string(block) + ".";
}

}  // namespace

OtherNames convnext_timm_names(const ConvnextOptions& options) {
  OtherNames names = {{"stem.0", "features.0.0"},
                      {"stem.1", "features.0.1"},
                      {"head.norm", "classifier.0"}};
  for (size_t s = 0; s < options.depths.size(); ++s) {
    const std::string stage = "stages." + std::to_string(s);
    for (const std::string i : {"0", "1"}) {
      if (s > 0) names[stage + ".downsample." + i] = halving_name(s) + i;
    }
    for (int64_t b = 0; b < options.depths[s]; ++b) {
      add_block_names(
          names,
          {stage + ".blocks." + std::to_string(b) + ".", "conv_dw", "norm",
           "mlp.fc1", "mlp.fc2", "mlp.grn.weight", "mlp.grn.bias", "gamma"},
          convnext_block_name(s, b));
    }
  }
  return names;
}

OtherNames convnext_names(const ConvnextOptions& options) {
  OtherNames names = {{"embeddings.patch_embeddings", "features.0.0"},
                      {"embeddings.layernorm", "features.0.1"},
                      {"downsample_layers.0.0", "features.0.0"},
                      {"downsample_layers.0.1", "features.0.1"},
                      {"stages.0.downsample_layers.0", "features.0.0"},
                      {"stages.0.downsample_layers.1", "features.0.1"},
                      {"layernorm", "classifier.0"},
                      {"layer_norm", "classifier.0"},
                      {"norm", "classifier.0"}};
  names.merge(convnext_timm_names(options));
  for (size_t s = 0; s < options.depths.size(); ++s) {
    const std::string number = std::to_string(s);
    const std::string stage = "stages." + number;
    const std::string encoder = "encoder.stages." + number;
    for (const std::string i : {"0", "1"}) {
      if (s == 0) break;
      const std::string ours = halving_name(s) + i;
      names["downsample_layers." + number + "." + i] = ours;
      names[encoder + ".downsampling_layer." + i] = ours;
      names[stage + ".downsample_layers." + i] = ours;
    }
    for (int64_t b = 0; b < options.depths[s]; ++b) {
      const std::string block = std::to_string(b) + ".";
      const std::string ours = convnext_block_name(s, b);
      add_block_names(names,
                      {stage + "." + block, "dwconv", "norm", "pwconv1",
                       "pwconv2", "grn.gamma", "grn.beta", "gamma"},
                      ours);
      add_block_names(
          names,
          {encoder + ".layers." + block, "dwconv", "layernorm", "pwconv1",
           "pwconv2", "grn.weight", "grn.bias", "layer_scale_parameter"},
          ours);
      add_block_names(names,
                      {stage + ".layers." + block, "depthwise_conv",
                       "layer_norm", "pointwise_conv1", "pointwise_conv2",
                       "grn.weight", "grn.bias", "gamma"},
                      ours);
    }
  }
  return names;
}

}  // namespace kith
