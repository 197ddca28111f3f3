#pragma once

// What surrounds the products of a convolution: batch norm folded into it,
// bias, shortcut and activation in one pass over the map, their gradient in
// another, and convolutions within channels. Plain structs, without LibTorch;
// cpu/ and cuda/ have an implementation each. Maps have their channels last and
// no gaps. T is the type of maps: Bf16 or, on the CPU, also float and double;
// what is learnt and what is added up is of type Sum<T>.

#include <cstdint>

#include "kith/ops/activation.h"
#include "kith/ops/bf16.h"

namespace kith {

/// y = f(x + bias + shortcut) at every position ("row") of a map.
template <class T>
struct BiasAct {
  int64_t rows = 0;
  int64_t channels = 0;
  Activation activation = Activation::kNone;
  const T* x = nullptr;          ///< [rows, channels]
  const Sum<T>* bias = nullptr;  ///< [channels]; or null
  const T* shortcut = nullptr;   ///< [rows, channels]; or null
  T* y = nullptr;                ///< [rows, channels]; may be x
};

/// dL/d(x + bias + shortcut), and its sums over parts of the rows, which add up
/// to dL/dbias.
template <class T>
struct BiasActGradient {
  int64_t rows = 0;
  int64_t channels = 0;
  Activation activation = Activation::kNone;
  const T* gradient = nullptr;  ///< dL/dy
  /// y where the slope follows from it, else x, to which `bias` is added.
  const T* saved = nullptr;
  const Sum<T>* bias = nullptr;
  T* before = nullptr;     ///< [rows, channels]; null: not wanted
  Sum<T>* sums = nullptr;  ///< [parts, channels]
  int64_t parts = 1;
};

/// A convolution within each channel, padded so that stride 1 keeps the size.
template <class T>
struct Depthwise {
  static constexpr bool has_kernel(int64_t kernel) {
    return kernel == 3 || kernel == 5;
  }
  static constexpr bool has_stride(int64_t stride) {
    return stride == 1 || stride == 2;
  }

  int64_t images = 0;
  int64_t channels = 0;
  int64_t height = 0;  ///< Of its input x [images, height, width, channels].
  int64_t width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
  const Sum<T>* weight = nullptr;  ///< [kernel, kernel, channels]
};

/// Batch norm that keeps its statistics, folded into a convolution:
///     w' = w s,  b' = beta - mean s,  s = gamma / sqrt(var + eps).
template <class T>
struct NormFold {
  int64_t channels = 0;  ///< That come out.
  int64_t inner = 0;     ///< Weights of one.
  double eps = 0;
  const Sum<T>* weight = nullptr;  ///< [channels, inner]
  const Sum<T>* gamma = nullptr;   ///< [channels], and so on
  const Sum<T>* beta = nullptr;
  const Sum<T>* mean = nullptr;
  const Sum<T>* var = nullptr;
};

/// A folded convolution: the weight of one within channels lies as Depthwise
/// takes it, any other one as the weight that was folded.
template <class T>
struct FoldedNorm {
  T* weight = nullptr;         ///< [channels, inner]; or null
  Sum<T>* by_place = nullptr;  ///< [inner, channels]; or null
  Sum<T>* bias = nullptr;      ///< [channels]
  T* bias_as_maps = nullptr;   ///< [channels] the same, rounded
};

/// What it takes back: of dL/dw' and dL/db', which is dL/dbeta.
template <class T>
struct FoldGradient {
  const T* weight = nullptr;         ///< dL/dw' as FoldedNorm has it,
  const Sum<T>* by_place = nullptr;  ///< one of the two
  const Sum<T>* bias = nullptr;      ///< [channels] dL/db'
  Sum<T>* to_weight = nullptr;       ///< [channels, inner] dL/dw
  Sum<T>* to_gamma = nullptr;        ///< [channels]
};

/// The map that the first convolution of a network is given (stem.h): with C
/// channels that come in, at position (i, j) of an image
///     y[(2 p + q) C + c] = x[2 (i - before) + p, 2 (j - before) + q, c]
/// for p and q of 0 and 1, and 0 where there is no such x.
template <class T>
struct StemMap {
  static constexpr int64_t kChannels = 16;  ///< Of y.
  static constexpr int64_t kMostIn = 4;

  int64_t images = 0;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t before = 0;
  const T* x = nullptr;          ///< [images, height, width, channels]
  const Sum<T>* wide = nullptr;  ///< The same instead, not rounded yet.
  T* y = nullptr;                ///< [images, out_height, out_width, 16]
};

/// The implementation for a kind of processor; null pointers where there is
/// none. On a GPU channels are a multiple of `vector`, and `stream` is a
/// cudaStream_t.
template <class T>
struct ConvKernels {
  int64_t vector = 1;
  void (*bias_act)(const BiasAct<T>&, void* stream) = nullptr;
  void (*bias_act_gradient)(const BiasActGradient<T>&, void* stream) = nullptr;
  /// y = f(conv(x) + bias); `bias` may be null.
  void (*depthwise)(const Depthwise<T>&, const T* x, const Sum<T>* bias,
                    Activation, T* y, void* stream) = nullptr;
  /// dx of g = dL/dconv(x).
  void (*depthwise_input)(const Depthwise<T>&, const T* g, T* dx,
                          void* stream) = nullptr;
  /// sums [parts, kernel, kernel, channels], which add up to dL/dweight.
  void (*depthwise_weight)(const Depthwise<T>&, const T* x, const T* g,
                           Sum<T>* sums, int64_t parts, void* stream) = nullptr;
  void (*fold)(const NormFold<T>&, const FoldedNorm<T>&,
               void* stream) = nullptr;
  void (*fold_gradient)(const NormFold<T>&, const FoldGradient<T>&,
                        void* stream) = nullptr;
  void (*stem_map)(const StemMap<T>&, void* stream) = nullptr;
};

template <class T>
const ConvKernels<T>& cpu_conv_kernels();
template <>
const ConvKernels<float>& cpu_conv_kernels<float>();
template <>
const ConvKernels<double>& cpu_conv_kernels<double>();
template <>
const ConvKernels<Bf16>& cpu_conv_kernels<Bf16>();

template <class T>
const ConvKernels<T>& cuda_conv_kernels();
template <>
const ConvKernels<float>& cuda_conv_kernels<float>();
template <>
const ConvKernels<double>& cuda_conv_kernels<double>();
template <>
const ConvKernels<Bf16>& cuda_conv_kernels<Bf16>();

}  // namespace kith
