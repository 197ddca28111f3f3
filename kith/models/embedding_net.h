#pragma once

#include <memory>

#include "kith/data/input.h"
#include "kith/data/loader.h"
#include "kith/models/backbone.h"
#include "kith/models/head.h"

namespace kith {

/// Backbone and head, made from a `model:` section.
class EmbeddingNet final : public torch::nn::Module {
 public:
  /// Weights come from LibTorch's generator: seed it first.
  explicit EmbeddingNet(const ConfigNode& section);

  const InputOptions& input() const { return input_; }
  int64_t dim() const { return dim_; }

  /// The pictures of a batch as the network takes them, on its device:
  /// [N, H, W, C] bytes -> [N, C, H, W] float32, (x / 255 - mean) / std.
  Tensor prepare(const Batch& batch) const;

  /// [N, C, H, W] -> [N, dim]
  Tensor forward(const Tensor& images);

  /// Parameters and buffers by name, as checkpoints store them.
  std::vector<std::pair<std::string, Tensor>> state() const;

 private:
  InputOptions input_;
  int64_t dim_;
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<Head> head_;
};

/// The `model:` section with every default present. Throws ConfigError.
ConfigNode complete_model(const ConfigNode& section);

}  // namespace kith
