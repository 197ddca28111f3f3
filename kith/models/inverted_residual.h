#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kith/models/adapt_weights.h"
#include "kith/models/conv_norm.h"
#include "kith/models/conv_parts.h"

namespace kith {

/// How a convolution with a stride pads: alike on all sides ("symmetric"), as
/// TensorFlow does ("same": what is needed, the odd one right and below), or as
/// that does for even sizes ("even": the left and upper side lack one).
using PaddingRule = std::string;

/// What the convolutions of a network with inverted residuals have in common.
struct InvertedNorm {
  PaddingRule padding = "symmetric";
  double eps = 1e-5;      ///< Of batch norm.
  double momentum = 0.1;  ///< Share of a batch in the running statistics.
  std::string batch_norm = "train";
};

/// A convolution that pads by a rule and the batch norm behind it, under the
/// names "0" and "1" in `owner`.
class PaddedConvNorm {
 public:
  PaddedConvNorm() = default;
  PaddedConvNorm(torch::nn::Module& owner, ConvShape shape,
                 const InvertedNorm& norm);

  Tensor operator()(const Tensor& x, Activation f = Activation::kNone);

 private:
  int64_t kernel_ = 1;
  int64_t stride_ = 1;
  PaddingRule padding_;  ///< Empty: the convolution pads itself.
  ConvNorm conv_;
};

struct InvertedShape {
  int64_t in = 0;
  int64_t inner = 0;  ///< Channels within.
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
  int64_t squeezed = 0;  ///< Of squeeze and excitation; 0: none.
  /// One full convolution in place of 1x1 and the one within channels.
  bool is_fused = false;
  Activation activation = Activation::kRelu;
  Activation squeeze_activation =
      Activation::kRelu;          ///< Within squeeze and excitation,
  std::string squeeze_gate = {};  ///< and at its end.
  double drop_path = 0.0;
};

/// Inverted residual block (Sandler et al., 2018): a 1x1 convolution to `inner`
/// channels (none if those are there), a convolution within channels, squeeze
/// and excitation, and a 1x1 convolution without activation. With names of
/// torchvision.
class InvertedBlock final : public torch::nn::Module {
 public:
  InvertedBlock(const InvertedShape& shape, const InvertedNorm& norm);

  Tensor forward(const Tensor& x);

  /// The names in timm, and in Hugging Face's EfficientNet, of a block, in
  /// front of which stand `theirs` and `ours`.
  void add_timm_names(OtherNames& names, const std::string& theirs,
                      const std::string& ours) const;
  void add_huggingface_names(OtherNames& names, const std::string& theirs,
                             const std::string& ours) const;

 private:
  bool has_expansion() const { return shape_.inner != shape_.in; }

  InvertedShape shape_;
  std::vector<PaddedConvNorm> early_;  ///< With an activation behind each.
  std::optional<SqueezeExcite> squeeze_;
  std::optional<PaddedConvNorm> last_;
};

}  // namespace kith
