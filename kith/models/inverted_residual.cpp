#include "kith/models/inverted_residual.h"

#include <algorithm>
#include <utility>

#include <torch/torch.h>

#include "kith/models/drop_path.h"

namespace kith {
namespace {

/// Rows or columns before and behind `size` of them.
std::pair<int64_t, int64_t> padding_of(int64_t size, int64_t kernel,
                                       int64_t stride,
                                       const PaddingRule& rule) {
  if (rule == "even") return {kernel / 2 - 1, kernel / 2};
  const int64_t steps = (size + stride - 1) / stride;
  const int64_t both =
      std::max<int64_t>(0, (steps - 1) * stride + kernel - size);
  return {both / 2, both - both / 2};
}

}  // namespace

PaddedConvNorm::PaddedConvNorm(torch::nn::Module& owner, ConvShape shape,
                               const InvertedNorm& norm)
    : kernel_(shape.kernel), stride_(shape.stride) {
  if (stride_ > 1 && norm.padding != "symmetric") padding_ = norm.padding;
  shape.eps = norm.eps;
  shape.momentum = norm.momentum;
  shape.padded = padding_.empty();
  conv_ = ConvNorm(owner, "0", "1", shape, norm.batch_norm);
}

Tensor PaddedConvNorm::operator()(const Tensor& x, Activation f) {
  if (padding_.empty()) return conv_(x, f);
  const auto [above, below] = padding_of(x.size(2), kernel_, stride_, padding_);
  const auto [left, right] = padding_of(x.size(3), kernel_, stride_, padding_);
  return conv_(torch::constant_pad_nd(x, {left, right, above, below}), f);
}

InvertedBlock::InvertedBlock(const InvertedShape& shape,
                             const InvertedNorm& norm)
    : shape_(shape) {
  const auto body = add_named_module(*this, "block");
  const auto next = [&] {
    return add_named_module(*body, std::to_string(body->children().size()));
  };
  const auto add = [&](const ConvShape& conv) {
    early_.emplace_back(*next(), conv, norm);
  };
  const int64_t inner = shape.inner;
  if (shape.is_fused) {
    add({.in = shape.in,
         .out = has_expansion() ? inner : shape.out,
         .kernel = shape.kernel,
         .stride = shape.stride});
    if (!has_expansion()) return;
  } else {
    if (has_expansion()) add({.in = shape.in, .out = inner, .kernel = 1});
    add({.in = inner,
         .out = inner,
         .kernel = shape.kernel,
         .stride = shape.stride,
         .groups = inner});
  }
  if (shape.squeezed > 0) {
    squeeze_.emplace(*next(), inner, shape.squeezed, shape.squeeze_activation,
                     shape.squeeze_gate);
  }
  last_.emplace(*next(), ConvShape{.in = inner, .out = shape.out, .kernel = 1},
                norm);
}

Tensor InvertedBlock::forward(const Tensor& x) {
  Tensor y = x;
  for (PaddedConvNorm& conv : early_) {
    y = conv(y, shape_.activation);
  }
  if (squeeze_) y = (*squeeze_)(y);
  if (last_) y = (*last_)(y);
  if (shape_.stride > 1 || shape_.in != shape_.out) return y;
  y = drop_path(y, shape_.drop_path, is_training());
  // A fused block without expansion ends in SiLU, whose result no gradient
  // needs.
  return y.add_(x);
}

void InvertedBlock::add_timm_names(OtherNames& names, const std::string& theirs,
                                   const std::string& ours) const {
  std::vector<std::string> convs;
  if (shape_.is_fused) {
    convs = last_ ? std::vector<std::string>{"conv_exp", "conv_pwl"}
                  : std::vector<std::string>{"conv"};
  } else if (has_expansion()) {
    convs = {"conv_pw", "conv_dw", "conv_pwl"};
  } else {
    convs = {"conv_dw", "conv_pw"};
  }
  size_t place = 0;
  for (size_t i = 0; i < convs.size(); ++i) {
    if (squeeze_ && i + 1 == convs.size()) {
      const std::string se = ours + "block." + std::to_string(place++);
      names[theirs + "se.conv_reduce"] = se + ".fc1";
      names[theirs + "se.conv_expand"] = se + ".fc2";
    }
    const std::string conv = ours + "block." + std::to_string(place++);
    names[theirs + convs[i]] = conv + ".0";
    names[theirs + "bn" + std::to_string(i + 1)] = conv + ".1";
  }
}

void InvertedBlock::add_huggingface_names(OtherNames& names,
                                          const std::string& theirs,
                                          const std::string& ours) const {
  size_t place = 0;
  const auto next = [&] { return ours + "block." + std::to_string(place++); };
  const auto add = [&](const char* conv, const char* norm) {
    const std::string name = next();
    names[theirs + conv] = name + ".0";
    names[theirs + norm] = name + ".1";
  };
  if (has_expansion()) add("expansion.expand_conv", "expansion.expand_bn");
  add("depthwise_conv.depthwise_conv", "depthwise_conv.depthwise_norm");
  const std::string squeeze = next();
  names[theirs + "squeeze_excite.reduce"] = squeeze + ".fc1";
  names[theirs + "squeeze_excite.expand"] = squeeze + ".fc2";
  add("projection.project_conv", "projection.project_bn");
}

}  // namespace kith
