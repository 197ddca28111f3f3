#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/core/options.h"
#include "kith/core/tensor.h"
#include "kith/models/backbone.h"

namespace kith {

/// The section `model.lora`.
struct LoraOptions {
  int64_t rank = 0;  ///< 0: no adapters.
  double alpha = 16;
  std::vector<std::string> targets = {"*"};

  bool is_on() const { return rank > 0; }

  void describe(OptionSet& set);
};

/// Low-rank adaptation (Hu et al., ICLR 2022) of linear layers and of
/// convolutions without groups:
///
///     W' = W + (alpha / rank) B A,   A [rank, in], B [out, rank]
///
/// where a convolution's W is [out, in kernel^2], as if it were a linear layer
/// on patches. A is Kaiming-uniform (as linear layers start), B zero: at first
/// W' is W. A and B are parameters of the layer beside W, `lora_a` and
/// `lora_b`.
///
/// It knows nothing of what a backbone does: while it runs, W' takes the place
/// of W in the layer, so that autograd finds A and B through W'. That costs
/// out x in x rank multiplications a pass, little beside those of a batch, and
/// a graph keeps one W' of each layer.
class Lora {
 public:
  Lora() = default;  ///< None.

  /// Draws A from LibTorch's generator. ConfigError if `targets` fit no layer;
  /// `prefix` is what the names of the backbone's layers start with.
  Lora(const LoraOptions& options, const Backbone& backbone,
       const std::string& prefix);

  /// Puts W' in the place of W in all layers while it lives.
  class InPlace {
   public:
    explicit InPlace(Lora& lora);
    ~InPlace();
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    Lora& lora_;
  };

  /// The name of each layer's weights, and W'.
  NamedTensors merged() const;

  bool is_empty() const { return layers_.empty(); }

 private:
  struct Layer {
    std::string name;  ///< Of W.
    Tensor* place;     ///< The layer's own handle of W.
    Tensor w;
    Tensor a;
    Tensor b;
  };
  Tensor sum_of(const Layer& layer) const;

  std::vector<Layer> layers_;
  double scale_ = 0;
};

/// Whether a parameter is one of an adapter, by its name.
bool is_of_lora(const std::string& parameter);

}  // namespace kith
