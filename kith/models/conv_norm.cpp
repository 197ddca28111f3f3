#include "kith/models/conv_norm.h"

#include <utility>

#include <torch/torch.h>

#include "kith/ops/conv_pool.h"

namespace kith {
namespace nn = torch::nn;

namespace {

thread_local FoldOnce* fold_once = nullptr;  ///< The innermost of this thread.

template <class Action>
void for_each_norm(nn::Module& module, const Action& action) {
  module.apply([&](nn::Module& part) {
    auto* norm = part.as<nn::BatchNorm2dImpl>();
    if (norm != nullptr) action(*norm);
  });
}

}  // namespace

FoldOnce::FoldOnce() : before_(std::exchange(fold_once, this)) {}
FoldOnce::~FoldOnce() { fold_once = before_; }

ConvNorm::ConvNorm(nn::Module& owner, const std::string& conv,
                   const std::string& norm, const ConvShape& shape,
                   const std::string& batch_norm)
    : kept_(!gathers_statistics(batch_norm)),
      padding_(shape.padded ? (shape.kernel - 1) / 2 : 0) {
  const auto options = nn::Conv2dOptions(shape.in, shape.out, shape.kernel)
                           .stride(shape.stride)
                           .padding(padding_)
                           .groups(shape.groups)
                           .bias(shape.bias);
  conv_ = owner.register_module(conv, nn::Conv2d(options));
  // Keeps the scale of the activations from layer to layer; LibTorch's default
  // shrinks them, and an untrained network is then near constant.
  nn::init::kaiming_normal_(conv_->weight, 0.0, torch::kFanOut, torch::kReLU);
  if (shape.bias) nn::init::zeros_(conv_->bias);
  const auto norm_options =
      nn::BatchNorm2dOptions(shape.out).eps(shape.eps).momentum(shape.momentum);
  norm_ = owner.register_module(norm, nn::BatchNorm2d(norm_options));
  if (batch_norm == "sync") {
    shared_ = owner.register_module(norm + "_shared",
                                    std::make_shared<SharedNorm>(norm_));
  }
  set_trainable(*norm_, true, batch_norm);
  fused_ = std::make_shared<FoldedConv>();
}

bool ConvNorm::is_affine() const { return kept_ || !norm_->is_training(); }

Tensor ConvNorm::operator()(const Tensor& x, Activation f,
                            const Tensor& shortcut) {
  const ConvNormWeights weights = {conv_->weight, norm_->weight, norm_->bias,
                                   norm_->running_mean, norm_->running_var};
  const ConvNormShape shape = {conv_->options.stride()->front(), padding_,
                               conv_->options.groups(), norm_->options.eps(),
                               f};
  const bool can_add = !shortcut.defined() || slope_follows_from_result(f);
  if (is_affine() && !conv_->bias.defined() && can_add &&
      can_conv_norm_act(x, weights, shape)) {
    return conv_norm_act(x, weights, shape, *fused_, shortcut);
  }
  Tensor y = is_affine() ? folded(x) : normalise(convolve(x));
  if (shortcut.defined()) y.add_(shortcut);
  return activated(f, y);
}

Tensor ConvNorm::convolve(const Tensor& x) { return conv_->forward(x); }

Tensor ConvNorm::convolve_and_pool(const Tensor& x) {
  const auto& options = conv_->options;
  const bool is_plain = !conv_->bias.defined() &&
                        options.stride()->front() == 1 &&
                        padding_ == options.kernel_size()->front() / 2;
  if (is_plain && can_conv_pool(x, conv_->weight)) {
    return conv_pool(x, conv_->weight);
  }
  return torch::max_pool2d(convolve(x), 2);
}

Tensor ConvNorm::normalise(const Tensor& x) {
  if (!is_affine()) {
    fused_->clear();  // the statistics change, and their versions do not tell
    return shared_ ? shared_->forward(x) : norm_->forward(x);
  }
  return torch::batch_norm(x, norm_->weight, norm_->bias, norm_->running_mean,
                           norm_->running_var, false, 0, norm_->options.eps(),
                           at::globalContext().userEnabledCuDNN());
}

FoldOnce::Folded ConvNorm::fold() const {
  const Tensor scale =
      norm_->weight * (norm_->running_var + norm_->options.eps()).rsqrt();
  const Tensor mean = conv_->bias.defined() ? norm_->running_mean - conv_->bias
                                            : norm_->running_mean;
  return {conv_->weight * scale.view({-1, 1, 1, 1}),
          torch::addcmul(norm_->bias, mean, scale, -1)};
}

Tensor ConvNorm::folded(const Tensor& x) const {
  const bool once =
      fold_once != nullptr && !torch::GradMode::is_enabled() && !x.is_cuda();
  FoldOnce::Folded here;
  FoldOnce::Folded& f = once ? fold_once->folded_[conv_.get()] : here;
  if (!f.weight.defined()) f = fold();
  const auto& options = conv_->options;
  return torch::conv2d(x, f.weight, f.bias, options.stride()->front(), padding_,
                       1, options.groups());
}

Tensor activated(Activation f, Tensor x) {
  // The gradient of ReLU needs the result alone, those of the last two what was
  // there before.
  const bool keeps = torch::GradMode::is_enabled() && x.requires_grad();
  switch (f) {
    case Activation::kRelu:
      return x.relu_();
    case Activation::kRelu6:
      // Unlike clamp_, it keeps its result for the gradient, not its input.
      return torch::hardtanh_(x, 0, 6);
    case Activation::kSilu:
      return keeps ? torch::silu(x) : torch::silu_(x);
    case Activation::kHardswish:
      return keeps ? torch::hardswish(x) : torch::hardswish_(x);
    default:
      return x;
  }
}

bool gathers_statistics(const std::string& batch_norm) {
  return batch_norm == "train" || batch_norm == "sync";
}

void set_trainable(nn::Module& module, bool trainable,
                   const std::string& batch_norm) {
  for (Tensor& parameter : module.parameters()) {
    parameter.requires_grad_(trainable);
  }
  if (batch_norm != "all") return;
  for_each_norm(module, [](nn::BatchNorm2dImpl& norm) {
    norm.weight.requires_grad_(false);
    norm.bias.requires_grad_(false);
  });
}

void set_training(nn::Module& module, bool training,
                  const std::string& batch_norm) {
  module.train(training);
  if (gathers_statistics(batch_norm)) return;
  for_each_norm(module, [](nn::BatchNorm2dImpl& norm) { norm.eval(); });
}

}  // namespace kith
