#pragma once

#include <vector>

#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "kith/core/options.h"
#include "kith/core/tensor.h"
#include "kith/models/backbone.h"

namespace kith {

struct HeadOptions {
  int64_t dim = 128;
  std::string pooling = "gem";
  double gem_p = 3.0;
  std::string layer_norm = "none";
  bool layer_norm_affine = true;
  bool l2_before = false;
  std::string init = "uniform";
  int64_t whiten_images = 10'000;
  bool l2 = true;
  std::vector<int64_t> nested = {};
  std::vector<double> nested_weights = {};

  void describe(OptionSet& set);

  /// Whether the linear layer starts from a whitening.
  bool whitens() const;
};

/// How many of the first numbers of an embedding of `dim` are to serve by
/// themselves, as `nested` says: rising, the last one `dim`. Empty: only all
/// of them. ConfigError if that cannot be.
std::vector<int64_t> nested_sizes(const HeadOptions& options, int64_t dim);

/// From features to an embedding: pooling, L2, LayerNorm (before or after the
/// linear layer), linear, L2. With dim 0 there is no linear layer, and no
/// LayerNorm unless asked for: what a published network finds without any
/// training.
///
/// GeM (Radenovic et al., 2019): (mean over positions of max(f, 1e-6)^p)^(1/p)
/// for each channel, with one learnt p. `max_average` adds up the maximum and
/// the mean of each channel. `class_token` takes the backbone's class token
/// and leaves the map alone; `class_token_and_average` puts the mean beside it,
/// [N, 2 F].
class Head final : public torch::nn::Module {
 public:
  /// ConfigError if the backbone lacks what is pooled, or has fewer features
  /// than a whitening is to have dimensions.
  Head(const HeadOptions& options, const Backbone& backbone);

  /// -> [N, dim], in the precision of the head's weights; without any in that
  /// of the features, or float32 if theirs is lower.
  Tensor forward(const Features& features);

  /// What goes into the linear layer, [N, features()].
  Tensor pooled(const Features& features);

  /// F, of what goes into the linear layer.
  int64_t features() const { return features_; }

  /// The first step alone, [N, F], and all the others.
  Tensor pool(const Features& features) const;
  Tensor embed(const Tensor& pool);

  const HeadOptions& options() const { return options_; }

  /// Size of an embedding.
  int64_t dim() const { return dim_; }

  /// Sets the linear layer to projection (x - mean), given [dim, F] and [F].
  void set_linear(const Tensor& projection, const Tensor& mean);

 private:
  Tensor prepared(Tensor pool);
  Tensor in_precision(const Tensor& x) const;

  HeadOptions options_;
  int64_t features_;
  int64_t dim_;
  Tensor gem_p_;
  torch::nn::LayerNorm norm_{nullptr};
  torch::nn::Linear linear_{nullptr};  ///< Null with dim 0.
};

}  // namespace kith
