#include "kith/ops/conv_norm_act.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <ATen/detail/CUDAHooksInterface.h>
#include <torch/torch.h>

#include "kith/ops/conv_kernels.h"
#include "kith/ops/fused_way.h"
#include "kith/ops/gpu.h"
#include "kith/ops/stem.h"

namespace kith {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast;

/// Most parts of a sum over positions; with these a GPU is busy.
constexpr int64_t kMostParts = 1024;

/// How a convolution is computed.
enum class ConvKind { kDepthwise, kPointwise, kStem, kDense };

ConvKind kind_of(const Tensor& x, const Tensor& weight,
                 const ConvNormShape& shape) {
  const int64_t kernel = weight.size(2);
  if (shape.groups > 1 && shape.groups == weight.size(0) &&
      weight.size(1) == 1 && weight.size(3) == kernel &&
      Depthwise<float>::has_kernel(kernel) &&
      Depthwise<float>::has_stride(shape.stride) &&
      shape.padding == (kernel - 1) / 2) {
    return ConvKind::kDepthwise;
  }
  if (shape.groups == 1 && kernel == 1 && weight.size(3) == 1 &&
      shape.stride == 1 && shape.padding == 0) {
    return ConvKind::kPointwise;
  }
  // Pictures want no gradient.
  if (!x.requires_grad() && is_stem(weight, shape.stride, shape.padding,
                                    shape.groups, x.size(2), x.size(3))) {
    return ConvKind::kStem;
  }
  return ConvKind::kDense;
}

FoldedConv::Layout layout_for(ConvKind kind) {
  switch (kind) {
    case ConvKind::kDepthwise:
      return FoldedConv::Layout::kByPlace;
    case ConvKind::kStem:
      return FoldedConv::Layout::kStem;
    default:
      return FoldedConv::Layout::kAsItIs;
  }
}

Tensor empty_map(const Tensor& like, int64_t channels, int64_t height,
                 int64_t width) {
  return at::empty({like.size(0), channels, height, width},
                   like.options().memory_format(kChannelsLast));
}

/// [N, C, H, W] with channels last -> [N H W, C]
Tensor map_rows(const Tensor& map) {
  return map.permute({0, 2, 3, 1}).reshape({-1, map.size(1)});
}

Tensor weight_matrix(const Tensor& weight) {
  return weight.view({weight.size(0), weight.size(1)});
}

Tensor from_rows(const Tensor& rows, const Tensor& like) {
  return rows.view({like.size(0), like.size(2), like.size(3), rows.size(1)})
      .permute({0, 3, 1, 2});
}

/// y = f(x + bias + shortcut)
void run_bias_act(const Tensor& x, const Tensor& bias, const Tensor& shortcut,
                  Activation activation, const Tensor& y) {
  with_conv_kernels(x, [&]<class T>(const ConvKernels<T>& kernels) {
    BiasAct<T> p;
    p.rows = x.numel() / x.size(1);
    p.channels = x.size(1);
    p.activation = activation;
    p.x = numbers<T>(x);
    p.bias = numbers<Sum<T>>(bias);
    p.shortcut = numbers<T>(shortcut);
    p.y = numbers<T>(y);
    kernels.bias_act(p, current_stream());
  });
}

/// Of dL/dy: dL/d(x + bias + shortcut) and dL/dbias.
std::pair<Tensor, Tensor> run_bias_act_gradient(const Tensor& gradient,
                                                const Tensor& saved,
                                                const Tensor& bias,
                                                Activation activation) {
  const bool passes = activation == Activation::kNone;
  const Tensor before = passes ? gradient : at::empty_like(gradient);
  const int64_t channels = gradient.size(1);
  const int64_t rows = gradient.numel() / channels;
  // A part of at least 8 kB, and not more of them than rows.
  const int64_t parts = std::clamp<int64_t>(rows * channels / 4096, 1,
                                            std::min(kMostParts, rows));
  const Tensor sums =
      at::empty({parts, channels},
                gradient.options().dtype(sum_type(gradient.scalar_type())));
  with_conv_kernels(gradient, [&]<class T>(const ConvKernels<T>& kernels) {
    BiasActGradient<T> p;
    p.rows = rows;
    p.channels = channels;
    p.activation = activation;
    p.gradient = numbers<T>(gradient);
    p.saved = numbers<T>(saved);
    p.bias =
        slope_follows_from_result(activation) ? nullptr : numbers<Sum<T>>(bias);
    p.before = passes ? nullptr : numbers<T>(before);
    p.sums = numbers<Sum<T>>(sums);
    p.parts = parts;
    kernels.bias_act_gradient(p, current_stream());
  });
  return {before, sums.sum(0)};
}

template <class T>
Depthwise<T> depthwise_of(const Tensor& x, const Tensor& y,
                          const Tensor& by_place, int64_t stride) {
  Depthwise<T> p;
  p.images = x.size(0);
  p.channels = x.size(1);
  p.height = x.size(2);
  p.width = x.size(3);
  p.out_height = y.size(2);
  p.out_width = y.size(3);
  p.kernel = by_place.size(0) == 9 ? 3 : 5;
  p.stride = stride;
  p.weight = numbers<Sum<T>>(by_place);
  return p;
}

/// What the graph needs of a layer.
struct ConvForward {
  Tensor y;
  Tensor before;  ///< The activation, without bias; undefined: not needed.
};

int64_t out_size(int64_t size, int64_t kernel, const ConvNormShape& shape) {
  return (size + 2 * shape.padding - kernel) / shape.stride + 1;
}

ConvForward run_depthwise_forward(const Tensor& x, int64_t kernel,
                                  const ConvNormShape& shape,
                                  const FoldedConv::Tensors& folded,
                                  const Tensor& shortcut) {
  const Tensor y = empty_map(x, x.size(1), out_size(x.size(2), kernel, shape),
                             out_size(x.size(3), kernel, shape));
  const bool at_once =
      slope_follows_from_result(shape.activation) && !shortcut.defined();
  with_conv_kernels(x, [&]<class T>(const ConvKernels<T>& kernels) {
    kernels.depthwise(depthwise_of<T>(x, y, folded.by_place, shape.stride),
                      numbers<T>(x),
                      at_once ? numbers<Sum<T>>(folded.bias) : nullptr,
                      at_once ? shape.activation : Activation::kNone,
                      numbers<T>(y), current_stream());
  });
  return {y, at_once ? Tensor() : y};
}

/// Whether cuDNN adds bias and shortcut and applies the activation by itself.
/// LibTorch does not ask, as it does before a convolution alone, whether cuDNN
/// is there, wanted and able: in bfloat16, and for maps of 2^31 numbers. It
/// lets it take any algorithm, also where only those are wanted that give the
/// same bits every time.
bool cudnn_has_all(const Tensor& x, int64_t outputs,
                   const ConvNormShape& shape) {
  if (!x.is_cuda() || shape.groups != 1 ||
      shape.activation != Activation::kRelu) {
    return false;
  }
  const at::Context& context = at::globalContext();
  const int64_t most =
      std::numeric_limits<int32_t>::max() / std::max(x.size(1), outputs);
  return !context.deterministicCuDNN() && context.userEnabledCuDNN() &&
         at::detail::getCUDAHooks().supportsBFloat16ConvolutionWithCuDNNv8() &&
         x.numel() / x.size(1) <= most;
}

/// Of a 1x1 convolution: where the library cannot, bias and activation are left
/// to do. Written into a map, for a view could not be changed in place.
ConvForward run_pointwise_forward(const Tensor& x, const ConvNormShape& shape,
                                  const FoldedConv::Tensors& folded,
                                  const Tensor& shortcut) {
  const Tensor weight = weight_matrix(folded.weight).t();
  const Tensor y = empty_map(x, weight.size(1), x.size(2), x.size(3));
  Tensor rows = map_rows(y);
  const bool has_all = !shortcut.defined();
  if (has_all && shape.activation == Activation::kRelu) {
    at::_addmm_activation_out(rows, folded.bias_as_maps, map_rows(x), weight);
  } else if (has_all && shape.activation == Activation::kNone) {
    at::addmm_out(rows, folded.bias_as_maps, map_rows(x), weight);
  } else {
    at::mm_out(rows, map_rows(x), weight);
    return {y, y};
  }
  return {y, {}};
}

ConvForward run_dense_forward(const Tensor& x, const ConvNormShape& shape,
                              const FoldedConv::Tensors& folded,
                              const Tensor& shortcut) {
  const Tensor& weight = folded.weight;
  const Tensor& bias = folded.bias_as_maps;
  const int64_t s = shape.stride, p = shape.padding;
  if (!cudnn_has_all(x, weight.size(0), shape)) {
    const Tensor y =
        at::conv2d(x, weight, {}, {s, s}, {p, p}, {1, 1}, shape.groups)
            .contiguous(kChannelsLast);
    return {y, y};
  }
  const Tensor y =
      shortcut.defined()
          ? at::cudnn_convolution_add_relu(x, weight, shortcut, 1, bias, {s, s},
                                           {p, p}, {1, 1}, 1)
          : at::cudnn_convolution_relu(x, weight, bias, {s, s}, {p, p}, {1, 1},
                                       1);
  return {y.contiguous(kChannelsLast), {}};
}

/// x and shortcut are maps as the kernels take them.
ConvForward run_forward(const Tensor& x, ConvKind kind, int64_t kernel,
                        const ConvNormShape& shape,
                        const FoldedConv::Tensors& folded,
                        const Tensor& shortcut) {
  // With a shortcut cuDNN does it all, products of matrices do not.
  const bool is_product =
      kind == ConvKind::kPointwise &&
      !(shortcut.defined() && cudnn_has_all(x, folded.weight.size(0), shape));
  ConvForward done =
      kind == ConvKind::kDepthwise
          ? run_depthwise_forward(x, kernel, shape, folded, shortcut)
      : is_product ? run_pointwise_forward(x, shape, folded, shortcut)
                   : run_dense_forward(x, shape, folded, shortcut);
  if (!done.before.defined()) return done;
  if (slope_follows_from_result(shape.activation)) {
    run_bias_act(done.y, folded.bias, shortcut, shape.activation, done.y);
    done.before = Tensor();
  } else {
    done.y = at::empty_like(done.before);
    run_bias_act(done.before, folded.bias, {}, shape.activation, done.y);
  }
  return done;
}

/// dL/dx (undefined if not wanted) and dL/dw' as FoldedConv has it.
std::pair<Tensor, Tensor> run_products_back(const Tensor& g, const Tensor& x,
                                            const FoldedConv::Tensors& folded,
                                            ConvKind kind,
                                            const ConvNormShape& shape,
                                            bool wants_x, bool wants_weight) {
  Tensor dx, dw;
  if (kind == ConvKind::kDepthwise) {
    if (wants_x) dx = at::empty_like(x);
    const Tensor& by_place = folded.by_place;
    const int64_t parts = std::clamp<int64_t>(
        g.numel() / 65536, 1,
        std::min<int64_t>(kMostParts, g.size(0) * g.size(2)));
    const Tensor sums = at::empty(
        {wants_weight ? parts : 0, by_place.size(0), by_place.size(1)},
        by_place.options());
    with_conv_kernels(x, [&]<class T>(const ConvKernels<T>& kernels) {
      const auto p = depthwise_of<T>(x, g, by_place, shape.stride);
      if (wants_x) {
        kernels.depthwise_input(p, numbers<T>(g), numbers<T>(dx),
                                current_stream());
      }
      if (wants_weight) {
        kernels.depthwise_weight(p, numbers<T>(x), numbers<T>(g),
                                 numbers<Sum<T>>(sums), parts,
                                 current_stream());
      }
    });
    if (wants_weight) dw = sums.sum(0);
  } else if (kind == ConvKind::kPointwise) {
    const Tensor rows = map_rows(g);
    if (wants_x) dx = from_rows(at::mm(rows, weight_matrix(folded.weight)), x);
    if (wants_weight) {
      dw = at::mm(rows.t(), map_rows(x)).view(folded.weight.sizes());
    }
  } else {
    std::tie(dx, dw, std::ignore) = at::convolution_backward(
        g, x, folded.weight, c10::nullopt, {shape.stride, shape.stride},
        {shape.padding, shape.padding}, {1, 1}, false, {0, 0}, shape.groups,
        {wants_x, wants_weight, false});
  }
  return {dx, dw};
}

class ConvNormActFunction
    : public torch::autograd::Function<ConvNormActFunction> {
 public:
  static Variable forward(AutogradContext* context, const Variable& x,
                          const Variable& weight, const Variable& gamma,
                          const Variable& /*beta*/, const Variable& added,
                          bool has_shortcut, const ConvNormWeights& weights,
                          const ConvNormShape& wanted, ConvKind kind,
                          const FoldedConv::Tensors& folded) {
    const at::ScalarType type = fused_type(x);
    const int64_t kernel = weight.size(2);
    const bool is_stem = kind == ConvKind::kStem;
    const Tensor map = is_stem ? stem_map(x, kernel, type) : as_map(x, type);
    ConvNormShape shape = wanted;
    if (is_stem) {
      shape.stride = 1;
      shape.padding = 0;
    }
    const Tensor shortcut = has_shortcut ? as_map(added, type) : Tensor();
    const ConvForward done =
        run_forward(map, kind, kernel, shape, folded, shortcut);
    auto& data = context->saved_data;
    data["kind"] = static_cast<int64_t>(kind);
    data["stride"] = shape.stride;
    data["padding"] = shape.padding;
    data["groups"] = shape.groups;
    data["eps"] = shape.eps;
    data["activation"] = static_cast<int64_t>(shape.activation);
    data["wants_x"] = x.requires_grad();
    data["wants_shortcut"] = has_shortcut && added.requires_grad();
    data["wants_weight"] = weight.requires_grad() || gamma.requires_grad();
    data["type_of_x"] = static_cast<int64_t>(x.scalar_type());
    const bool needs_result =
        shape.activation != Activation::kNone && !done.before.defined();
    context->save_for_backward({map, weight, gamma, weights.mean, weights.var,
                                folded.weight, folded.by_place, folded.bias,
                                needs_result ? done.y : done.before});
    return done.y;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& outer) {
    refuse_second_derivative("conv_norm_act");
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const Tensor &map = saved[0], &weight = saved[1], &gamma = saved[2];
    ConvNormShape shape;
    shape.stride = data["stride"].toInt();
    shape.padding = data["padding"].toInt();
    shape.groups = data["groups"].toInt();
    shape.eps = data["eps"].toDouble();
    shape.activation = static_cast<Activation>(data["activation"].toInt());
    const FoldedConv::Tensors folded = {saved[5], saved[6], saved[7], {}};
    const std::pair<Tensor, Tensor> before =
        run_bias_act_gradient(as_map(outer[0], map.scalar_type()), saved[8],
                              folded.bias, shape.activation);
    const Tensor &g = before.first, &to_beta = before.second;
    const auto kind = static_cast<ConvKind>(data["kind"].toInt());
    const bool wants_weight = data["wants_weight"].toBool();
    const std::pair<Tensor, Tensor> products = run_products_back(
        g, map, folded, kind, shape, data["wants_x"].toBool(), wants_weight);
    Tensor to_x = products.first;
    if (to_x.defined()) {
      to_x = to_x.to(static_cast<at::ScalarType>(data["type_of_x"].toInt()));
    }
    FoldedConv::Gradients learnt;
    if (wants_weight) {
      learnt = FoldedConv::gradients(
          {weight, gamma, {}, saved[3], saved[4]}, shape.eps, layout_for(kind),
          map.scalar_type(), products.second, to_beta);
    }
    const Tensor to_shortcut = data["wants_shortcut"].toBool() ? g : Tensor();
    return {
        to_x, learnt.weight, learnt.gamma, to_beta, to_shortcut, {}, {}, {}, {},
        {}};
  }
};

/// Kernels read it where they write.
void check_shortcut(const Tensor& x, const Tensor& weight,
                    const ConvNormShape& shape, const Tensor& shortcut) {
  if (!shortcut.defined()) return;
  const std::vector<int64_t> wanted = {
      x.size(0), weight.size(0), out_size(x.size(2), weight.size(2), shape),
      out_size(x.size(3), weight.size(3), shape)};
  TORCH_CHECK_VALUE(shortcut.sizes() == at::IntArrayRef(wanted) &&
                        shortcut.device() == x.device(),
                    "[conv_norm_act] expected a shortcut ",
                    at::IntArrayRef(wanted), " on ", x.device(), ", got ",
                    shortcut.sizes(), " on ", shortcut.device());
}

bool is_learnt_vector(const Tensor& tensor, const Tensor& weight) {
  return tensor.defined() && tensor.is_contiguous() &&
         tensor.numel() == weight.size(0) &&
         tensor.scalar_type() == weight.scalar_type();
}

/// Whether the numbers of a filter lie behind each other, filter by filter.
bool lies_by_filter(const Tensor& weight) {
  return weight.is_non_overlapping_and_dense() &&
         (weight.size(0) == 1 ||
          weight.stride(0) == weight.numel() / weight.size(0));
}

}  // namespace

bool can_conv_norm_act(const Tensor& x, const ConvNormWeights& w,
                       const ConvNormShape& shape) {
  if (!takes_fused_way(x) || x.dim() != 4 || x.numel() == 0 ||
      !w.weight.defined() || w.weight.device() != x.device()) {
    return false;
  }
  const at::ScalarType type = fused_type(x);
  const int64_t vector =
      type == at::kBFloat16 ? cuda_conv_kernels<Bf16>().vector : 1;
  return w.weight.scalar_type() == sum_type(type) && lies_by_filter(w.weight) &&
         w.weight.size(0) % vector == 0 &&
         x.size(1) == w.weight.size(1) * shape.groups &&
         is_learnt_vector(w.gamma, w.weight) &&
         is_learnt_vector(w.beta, w.weight) &&
         is_learnt_vector(w.mean, w.weight) &&
         is_learnt_vector(w.var, w.weight) &&
         out_size(x.size(2), w.weight.size(2), shape) > 0 &&
         out_size(x.size(3), w.weight.size(3), shape) > 0;
}

Tensor conv_norm_act(const Tensor& x, const ConvNormWeights& weights,
                     const ConvNormShape& shape, FoldedConv& folded,
                     const Tensor& shortcut) {
  TORCH_CHECK_VALUE(can_conv_norm_act(x, weights, shape),
                    "[conv_norm_act] not for maps ", x.toString(), " ",
                    x.sizes());
  TORCH_CHECK_VALUE(
      !shortcut.defined() || slope_follows_from_result(shape.activation),
      "[conv_norm_act] a shortcut is added before none, ReLU or ReLU6 only");
  check_shortcut(x, weights.weight, shape, shortcut);
  const ConvKind kind = kind_of(x, weights.weight, shape);
  const FoldedConv::Tensors tensors =
      folded.of(weights, shape.eps, layout_for(kind), fused_type(x));
  // A function takes no undefined tensor: x stands for no shortcut.
  return ConvNormActFunction::apply(
      x, weights.weight, weights.gamma, weights.beta,
      shortcut.defined() ? shortcut : x, shortcut.defined(), weights, shape,
      kind, tensors);
}

}  // namespace kith
