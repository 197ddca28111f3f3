#pragma once

#include <memory>
#include <string>

#include "kith/core/tensor.h"
#include "kith/data/batch.h"
#include "kith/data/input.h"
#include "kith/models/backbone.h"
#include "kith/models/head.h"

namespace kith {

/// Options of a `model:` section beside `input`, `backbone` and `head`.
struct ModelOptions {
  std::string weights;                ///< Loaded by the trainer, not here.
  std::string bn = "train";           ///< BackboneInput::batch_norm
  std::string precision = "float32";  ///< On a GPU; a CPU takes float32.

  void describe(OptionSet& set);
};

/// The pixels of a part of a batch as a tensor on the CPU, [N, H, W, C] bytes:
/// a view, which keeps the memory alive.
Tensor pixels_of(const BatchPart& part);

/// Backbone and head, made from a `model:` section.
class EmbeddingNet final : public torch::nn::Module {
 public:
  /// Weights come from LibTorch's generator: seed it first. ConfigError if the
  /// backbone does not take pictures of the sizes of `input`.
  explicit EmbeddingNet(const ConfigNode& section);

  const InputOptions& input() const { return input_; }
  const ModelOptions& options() const { return options_; }
  int64_t dim() const { return dim_; }
  Backbone& backbone() { return *backbone_; }
  Head& head() { return *head_; }
  c10::Device device() const;

  /// Moves the network. On a GPU the weights of convolutions are laid out with
  /// the channels last, as the fast convolutions there want them.
  void use_device(c10::Device device);

  /// Sets how LibTorch computes float32 products and convolutions on a GPU, for
  /// the whole process: forward() alone cannot, for the backward pass comes
  /// later. Training and embedding call it before they start. The losses set
  /// the precision of their products themselves.
  void apply_precision() const;

  /// Keeps the backbone's parameters as they are (they want no gradient), or
  /// lets them train. With bn "all" those of batch norm never train.
  void freeze_backbone(bool frozen);

  /// Batch norm that keeps its statistics (bn "stats" and "all") stays in
  /// evaluation mode.
  void train(bool on = true) override;

  /// Pictures as the network takes them, on the device where they are:
  /// [N, H, W, C] bytes -> [N, C, H, W] of the network's type,
  /// (x / 255 - mean) / std. On a GPU the memory stays in the order N, H, W, C.
  Tensor prepare(const Tensor& pixels) const;

  /// [N, C, H, W] -> [N, dim]. With precision "bf16" the backbone computes in
  /// bfloat16 on a GPU; the head always computes in float32.
  Tensor forward(const Tensor& images, const Mixing& mixing = {});

  /// [N, C, H, W] -> [N, F], what the head's linear layer is given.
  Tensor pooled(const Tensor& images);

  /// Parameters and buffers by name, as checkpoints store them.
  NamedTensors state() const;

 private:
  Features features_of(const Tensor& images, const Mixing& mixing);

  ModelOptions options_;
  InputOptions input_;
  Tensor scale_;  ///< [C, 1, 1] double: 1 / (255 std)
  Tensor shift_;  ///< [C, 1, 1] double: -mean / std
  int64_t dim_ = 0;
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<Head> head_;
};

/// The `model:` section with every default present. Throws ConfigError.
/// `colour` is that of the data (grey or rgb), for an input that does not say
/// its own; with auto the colour, and mean and std with it, stay open until the
/// data is there, and no network can be made of it.
ConfigNode complete_model(const ConfigNode& section,
                          const std::string& colour = "grey");

}  // namespace kith
