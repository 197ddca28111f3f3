#include "kith/models/head.h"

#include <torch/torch.h>

#include "kith/ops/pairwise.h"

namespace kith {

void HeadOptions::describe(OptionSet& set) {
  set.add("dim", dim, "Size of an embedding.").range(1, 1 << 20);
  set.add("pooling", pooling, "How positions are pooled.")
      .choices({"gem", "average"});
  set.add("gem_p", gem_p, "Start value of GeM's learnt power.").positive();
  set.add("layer_norm", layer_norm,
          "LayerNorm before or after the linear layer.")
      .choices({"none", "before", "after"});
  set.add("l2", l2, "Embeddings are unit vectors.");
}

Head::Head(const HeadOptions& options, int64_t features) : options_(options) {
  if (options.pooling == "gem") {
    gem_p_ = register_parameter("gem_p", torch::full({1}, options.gem_p));
  }
  if (options.layer_norm != "none") {
    const int64_t width =
        options.layer_norm == "before" ? features : options.dim;
    norm_ = register_module(
        "norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  }
  linear_ = register_module("linear", torch::nn::Linear(features, options.dim));
}

Tensor Head::forward(const Tensor& features) {
  Tensor x = gem_p_.defined()
                 ? features.clamp_min(1e-6).pow(gem_p_).mean({2, 3}).pow(
                       gem_p_.reciprocal())
                 : features.mean({2, 3});
  if (options_.layer_norm == "before") x = norm_(x);
  x = linear_(x);
  if (options_.layer_norm == "after") x = norm_(x);
  return options_.l2 ? normalize_rows(x) : x;
}

}  // namespace kith
