#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include "kith/core/tensor.h"
#include "kith/models/shared_norm.h"
#include "kith/ops/conv_norm_act.h"

namespace kith {

/// A square convolution that keeps the size of its input but for the stride,
/// and the batch norm behind it.
struct ConvShape {
  int64_t in = 0;
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t groups = 1;
  bool bias = false;      ///< Of the convolution.
  bool padded = true;     ///< Else it keeps no size: the caller pads.
  double eps = 1e-5;      ///< Of batch norm.
  double momentum = 0.1;  ///< Share of a batch in the running statistics.
};

/// While one lives, its thread folds batch norm into a convolution once, when
/// it first comes to it, instead of every time, on the CPU and where no graph
/// is wanted. Weights must stay as they are meanwhile: whoever makes one for a
/// local scope that only computes embeddings cannot do wrong.
class FoldOnce {
 public:
  FoldOnce();
  ~FoldOnce();
  FoldOnce(const FoldOnce&) = delete;
  FoldOnce& operator=(const FoldOnce&) = delete;

 private:
  friend class ConvNorm;
  /// A convolution with batch norm in it.
  struct Folded {
    Tensor weight;
    Tensor bias;
  };
  std::unordered_map<const torch::nn::Module*, Folded> folded_;
  FoldOnce* before_;
};

/// A convolution and the batch norm behind it. It is no module itself: the two
/// layers belong to `owner` under names of its choice, so that a backbone has
/// the names of published weight files.
///
/// With batch norm "train", a network in training mode uses the statistics of
/// the batch, and with "sync" those of the batches of all ranks. In any other
/// case batch norm is an affine map, and is folded into the convolution, with a
/// graph as well as without:
///
///     y = conv(x, w s) + beta + (b - mean) s,   s = gamma / sqrt(var + eps)
///
/// where b is the convolution's bias, if it has one. The gradients are those of
/// the two layers, but there is one map of activations instead of two to
/// compute and to keep. On a GPU in bfloat16 what follows is one with it too
/// (conv_norm_act()).
class ConvNorm {
 public:
  ConvNorm() = default;

  /// `batch_norm` as in BackboneInput. Weights are normal with variance
  /// 2 / (out kernel^2) (He et al., 2015, by the outputs).
  ConvNorm(torch::nn::Module& owner, const std::string& conv,
           const std::string& norm, const ConvShape& shape,
           const std::string& batch_norm);

  /// Both layers, then f(. + shortcut); `shortcut` may be undefined. Without an
  /// activation no graph needs the result: the caller may change it in place.
  Tensor operator()(const Tensor& x, Activation f = Activation::kNone,
                    const Tensor& shortcut = {});

  /// One layer at a time, for a network with something between them.
  Tensor convolve(const Tensor& x);
  Tensor convolve_and_pool(const Tensor& x);  ///< The largest of 2x2 positions.
  Tensor normalise(const Tensor& x);

 private:
  bool is_affine() const;
  FoldOnce::Folded fold() const;
  Tensor folded(const Tensor& x) const;

  bool kept_ = false;  ///< Statistics stay as they are, also in training.
  int64_t padding_ = 0;
  torch::nn::Conv2d conv_{nullptr};
  torch::nn::BatchNorm2d norm_{nullptr};
  std::shared_ptr<SharedNorm> shared_;  ///< Null: its own statistics.
  std::shared_ptr<FoldedConv> fused_;   ///< For conv_norm_act().
};

/// f(x) of a tensor that nobody else needs: in place where the gradient does
/// not need what was there.
Tensor activated(Activation f, Tensor x);

/// Whether a batch norm of this kind gathers statistics in training.
bool gathers_statistics(const std::string& batch_norm);

/// Lets all parameters of `module` train, or none. With batch norm "all" those
/// of batch norm never do.
void set_trainable(torch::nn::Module& module, bool trainable,
                   const std::string& batch_norm);

/// Training or evaluation mode, but batch norm that keeps its statistics stays
/// in evaluation mode: whoever looks sees that nothing changes in it.
void set_training(torch::nn::Module& module, bool training,
                  const std::string& batch_norm);

}  // namespace kith
