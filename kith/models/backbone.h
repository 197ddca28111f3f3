#pragma once

#include <torch/nn/module.h>

#include "kith/core/registry.h"
#include "kith/core/tensor.h"
#include "kith/models/mixup.h"

namespace kith {

/// What a backbone is told beside its own options.
struct BackboneInput {
  int64_t channels = 3;
  int64_t size = 224;  ///< Pictures are size x size pixels.
  /// Batch norm: "train" (statistics of the batch), "sync" (those of the
  /// batches of all ranks), "stats" (running statistics are kept, the affine
  /// parameters train) or "all" (both kept).
  std::string batch_norm = "train";
};

/// What a backbone makes of pictures.
struct Features {
  Tensor map;    ///< [N, F, H, W]
  Tensor token;  ///< [N, F] class token; undefined where there is none.
};

/// A network from pictures to features.
class Backbone : public torch::nn::Module {
 public:
  /// [N, channels, size, size] -> features, with the activations mixed at one
  /// point on the way if `mixing` says so.
  Features forward(const Tensor& images, const Mixing& mixing = {}) {
    return run(mixing(0, images), mixing);
  }

  virtual int64_t features() const = 0;

  /// Whether features have a class token.
  virtual bool has_token() const { return false; }

  /// What the backbone is and why its pictures must all have the size that it
  /// was made for; empty if it takes any size, of any shape.
  virtual std::string fixed_size() const { return ""; }

  /// Both sides of a picture must be multiples of this.
  virtual int64_t multiple() const { return 1; }

  /// Turns tensors of a weight file (names and shapes of torchvision, timm and
  /// others) into those of this backbone, where they differ.
  virtual void adapt_weights(NamedTensors&) const {}

  /// The way back: turns all tensors of this backbone into those of the network
  /// that published_name() finds, for pictures of size x size pixels.
  virtual void publish_weights(NamedTensors&, int64_t /*size*/) const {}

  /// What a tensor is called now that a checkpoint of an earlier kith has under
  /// this name.
  virtual std::string present_name(const std::string& stored) const {
    return stored;
  }

  /// The known network that adapted weights are of, for errors about a file of
  /// another one; empty if that is not known.
  virtual std::string network_of(const NamedTensors&) const { return ""; }

  /// Points at which activations can be mixed. Point 0 is the input; the
  /// others lie after early stages.
  virtual int64_t mix_points() const { return 1; }

  /// The layer that a parameter belongs to, by a name of its own such as
  /// "layer1.0", for learning rates that fall from layer to layer. Layers are
  /// in the order of their first parameters. Empty: that of the parameter
  /// before, or, before all others, the stem. By default numbered_layer().
  virtual std::string layer_of(const std::string& parameter) const;

 protected:
  /// What forward() does with the pictures, mixed already if that is to be at
  /// point 0. At every other point k of its own it passes on what `mixing`
  /// makes of the activations: x = mixing(k, x).
  virtual Features run(const Tensor& images, const Mixing& mixing) = 0;
};

/// The name of a parameter up to the first number of a list of modules, with
/// that of blocks in a stage: "layer1.0", "encoder.layers.encoder_layer_3",
/// "stages.2.blocks.5". Empty if it has none.
std::string numbered_layer(const std::string& parameter);

using BackboneRegistry = Registry<Backbone, BackboneInput>;
BackboneRegistry& backbone_registry();

}  // namespace kith
