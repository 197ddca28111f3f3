#include "kith/models/head.h"

#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "kith/ops/pooling.h"

namespace kith {
namespace {

/// What GeM takes for smaller numbers.
constexpr double kGemFloor = 1e-6;

/// The largest value of each channel. Of equal ones the first gets the whole
/// gradient, as in the pooling layers of published code.
Tensor maximum(const Tensor& map) { return std::get<0>(map.flatten(2).max(2)); }

int64_t pooled_features(const HeadOptions& options, const Backbone& backbone) {
  return options.pooling == "class_token_and_average" ? 2 * backbone.features()
                                                      : backbone.features();
}

[[noreturn]] void refuse_nested(const std::string& why) {
  throw ConfigError("'model.head.nested' " + why);
}

std::string list_text(const std::vector<int64_t>& numbers) {
  std::vector<std::string> words;
  for (const int64_t number : numbers) words.push_back(std::to_string(number));
  return "[" + join(words) + "]";
}

}  // namespace

void HeadOptions::describe(OptionSet& set) {
  set.add("dim", dim,
          "Size of an embedding; 0: no linear layer, so that it is what was "
          "pooled.")
      .range(0, 1 << 20);
  set.add("pooling", pooling,
          "How positions are pooled; class_token: a transformer's own token, "
          "or what ConvNeXt's last LayerNorm makes of the mean; or with the "
          "average of the positions beside it.")
      .choices({"gem", "average", "max", "max_average", "class_token",
                "class_token_and_average"});
  set.add("gem_p", gem_p, "Start value of GeM's learnt power.").positive();
  set.add("layer_norm", layer_norm,
          "LayerNorm before or after the linear layer.")
      .choices({"none", "before", "after"});
  set.add("layer_norm_affine", layer_norm_affine,
          "LayerNorm has a learnt scale and shift.");
  set.add("l2_before", l2_before,
          "What was pooled is made a unit vector before anything else.");
  set.add("init", init,
          "How the linear layer starts: uniform (LibTorch's), he_normal: "
          "weights of variance 2 / dim (fan_out), no bias, whitening: PCA "
          "whitening of what it is given for training images, or "
          "pair_whitening: that learnt from matching pairs of them (Radenovic "
          "et al., 2019).")
      .choices({"uniform", "he_normal", "whitening", "pair_whitening"});
  set.add("whiten_images", whiten_images,
          "Most training images, drawn by train.seed, that whitening is "
          "learnt from; more than `dim` are needed.")
      .range(2);
  set.add("l2", l2,
          "Embeddings are unit vectors; absent in a training: if its loss is "
          "defined on them.");
  set.add("nested", nested,
          "Sizes such as [64, 128]: the loss is that of the first so many "
          "numbers for each, added up with that of all (Matryoshka), so that "
          "embeddings may be cut to any of them.")
      .range(1, 1 << 20);
  set.add("nested_weights", nested_weights,
          "Weight of the loss of each size, that of all numbers last; empty: "
          "1 each, as published.")
      .range(0);
}

bool HeadOptions::whitens() const {
  return init == "whitening" || init == "pair_whitening";
}

std::vector<int64_t> nested_sizes(const HeadOptions& options, int64_t dim) {
  std::vector<int64_t> sizes = options.nested;
  const std::vector<double>& weights = options.nested_weights;
  if (sizes.empty() && !weights.empty()) {
    throw ConfigError(
        "'model.head.nested_weights' is for the sizes of 'model.head.nested', "
        "and there are none: set these, or leave it out");
  }
  if (sizes.empty()) return {};
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i - 1] >= sizes[i]) {
      refuse_nested("must rise, got " + list_text(sizes));
    }
  }
  if (sizes.back() > dim) {
    refuse_nested("is " + list_text(sizes) + ", but embeddings have " +
                  std::to_string(dim) +
                  " numbers ('model.head.dim'): set it to sizes up to that");
  }
  if (sizes.back() < dim) sizes.push_back(dim);
  if (!weights.empty() && weights.size() != sizes.size()) {
    throw ConfigError("'model.head.nested_weights' has " +
                      std::to_string(weights.size()) + " weights for the " +
                      std::to_string(sizes.size()) + " sizes " +
                      list_text(sizes) + ": give one for each, or none");
  }
  return sizes;
}

Head::Head(const HeadOptions& options, const Backbone& backbone)
    : options_(checked(options, "head")),
      features_(pooled_features(options, backbone)),
      dim_(options.dim == 0 ? features_ : options.dim) {
  if (options.pooling.starts_with("class_token") && !backbone.has_token()) {
    throw ConfigError(
        "'model.head.pooling' is " + options.pooling +
        ", but the backbone has no such token: take a transformer (vit_b_16) "
        "or ConvNeXt, or gem, average, max or max_average");
  }
  if (options.pooling == "gem") {
    gem_p_ = register_parameter("gem_p", torch::full({1}, options.gem_p));
  }
  if (options.dim == 0 && options.init != "uniform") {
    throw ConfigError(
        "'model.head.init' is " + options.init +
        ", which is about the linear layer, and 'model.head.dim' is 0, which "
        "leaves that out: set one of the two otherwise");
  }
  nested_sizes(options_, dim_);
  if (options.whitens() && options.dim > features_) {
    throw ConfigError("'model.head.init' is " + options.init +
                      ", which makes at most as "
                      "many dimensions as there are pooled features: set "
                      "'model.head.dim' to at most " +
                      std::to_string(features_) + ", got " +
                      std::to_string(options.dim));
  }
  if (options.layer_norm != "none") {
    const int64_t width = options.layer_norm == "before" ? features_ : dim_;
    norm_ = register_module(
        "norm", torch::nn::LayerNorm(
                    torch::nn::LayerNormOptions({width}).elementwise_affine(
                        options.layer_norm_affine)));
  }
  if (options.dim == 0) return;
  linear_ =
      register_module("linear", torch::nn::Linear(features_, options.dim));
  if (options.init == "he_normal") {
    torch::nn::init::kaiming_normal_(linear_->weight, 0, torch::kFanOut);
    torch::nn::init::zeros_(linear_->bias);
  }
}

// A backbone in bfloat16 hands over bfloat16: powers and sums need more.
Tensor Head::in_precision(const Tensor& x) const {
  if (!linear_.is_empty()) return x.to(linear_->weight.scalar_type());
  return x.scalar_type() == torch::kDouble ? x : x.to(torch::kFloat);
}

Tensor Head::pool(const Features& features) const {
  if (options_.pooling == "class_token") return in_precision(features.token);
  if (options_.pooling == "gem" && can_pool(features.map)) {
    return in_precision(gem_pool(features.map, gem_p_, kGemFloor));
  }
  const Tensor map = in_precision(features.map);
  if (options_.pooling == "class_token_and_average") {
    return torch::cat({in_precision(features.token), map.mean({2, 3})}, 1);
  }
  if (options_.pooling == "average") return map.mean({2, 3});
  if (options_.pooling == "max") return maximum(map);
  if (options_.pooling == "max_average") return maximum(map) + map.mean({2, 3});
  return map.clamp_min(kGemFloor).pow(gem_p_).mean({2, 3}).pow(
      gem_p_.reciprocal());
}

Tensor Head::pooled(const Features& features) {
  return prepared(pool(features));
}

/// Up to the linear layer.
Tensor Head::prepared(Tensor x) {
  if (options_.l2_before) x = normalize_rows(x);
  return options_.layer_norm == "before" ? norm_(x) : x;
}

void Head::set_linear(const Tensor& projection, const Tensor& mean) {
  const torch::NoGradGuard no_grad;
  linear_->weight.copy_(projection);
  linear_->bias.copy_(-projection.mv(mean));
}

Tensor Head::forward(const Features& features) { return embed(pool(features)); }

Tensor Head::embed(const Tensor& pool) {
  Tensor x = prepared(pool);
  if (!linear_.is_empty()) x = linear_(x);
  if (options_.layer_norm == "after") x = norm_(x);
  return options_.l2 ? normalize_rows(x) : x;
}

}  // namespace kith
