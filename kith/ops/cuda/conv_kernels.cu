// Bias, shortcut and activation of a map, their gradient, and batch norm folded
// into weights. A thread has 16 bytes of a row of the map, always of the same
// channels, and goes from row to row: what belongs to channels stays in
// registers, and each number of the map is read and written once.

#include <algorithm>

#include "kith/ops/conv_kernels.h"
#include "kith/ops/cuda/depthwise.cuh"
#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/cuda/packs.cuh"

namespace kith {
namespace {

constexpr int kThreads = 256;
constexpr int kFoldThreads = 128;
constexpr int kStemThreads = 128;
constexpr int64_t kMostBlocks = 2048;

template <class T>
constexpr int kPack = 16 / sizeof(T);

/// How a matrix [rows, channels] is shared among the threads of blocks: `tile`
/// neighbouring packs of a row, and `lanes` rows.
struct Sharing {
  int tile;
  int lanes;
  unsigned tiles;  ///< Blocks beside each other.

  template <class T>
  static Sharing of(int64_t channels) {
    Sharing s;
    const int64_t packs = channels / kPack<T>;
    s.tiles = blocks_for(packs, kThreads);
    s.tile = static_cast<int>(blocks_for(packs, s.tiles));
    s.lanes = kThreads / s.tile;
    return s;
  }
  unsigned threads() const { return static_cast<unsigned>(tile * lanes); }
};

/// The place of this thread.
template <class T>
struct MapPlace {
  __device__ explicit MapPlace(int tile)
      : lane(static_cast<int>(threadIdx.x) / tile),
        lanes(static_cast<int>(blockDim.x) / tile),
        channel((int64_t{blockIdx.y} * tile +
                 static_cast<int>(threadIdx.x) % tile) *
                kPack<T>) {}
  int lane;
  int lanes;
  int64_t channel;
};

template <class T, Activation kind>
__global__ void __launch_bounds__(kThreads)
    bias_act_kernel(BiasAct<T> p, int tile) {
  constexpr int kCount = kPack<T>;
  const MapPlace<T> place(tile);
  if (place.channel >= p.channels) return;
  Sum<T> bias[kCount] = {};
  if (p.bias != nullptr) load(p.bias + place.channel, bias);
  const int64_t step = int64_t{gridDim.x} * place.lanes;
  for (int64_t row = int64_t{blockIdx.x} * place.lanes + place.lane;
       row < p.rows; row += step) {
    const int64_t at = row * p.channels + place.channel;
    Sum<T> x[kCount];
    load(p.x + at, x);
    Sum<T> other[kCount] = {};
    if (p.shortcut != nullptr) load(p.shortcut + at, other);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      x[k] = activate<kind>(x[k] + bias[k] + other[k]);
    }
    store(x, p.y + at);
  }
}

/// A block is a part of the rows; its threads' sums are added up in their
/// order.
template <class T, Activation kind>
__global__ void __launch_bounds__(kThreads)
    bias_act_gradient_kernel(BiasActGradient<T> p, int tile) {
  constexpr int kCount = kPack<T>;
  __shared__ Sum<T> shared[kThreads * kCount];
  const MapPlace<T> place(tile);
  const bool works = place.channel < p.channels;
  Sum<T> bias[kCount] = {};
  if (works && p.bias != nullptr) load(p.bias + place.channel, bias);
  Sum<T> sum[kCount] = {};
  const int64_t step = int64_t{gridDim.x} * place.lanes;
  for (int64_t row = int64_t{blockIdx.x} * place.lanes + place.lane;
       works && row < p.rows; row += step) {
    const int64_t at = row * p.channels + place.channel;
    Sum<T> g[kCount];
    load(p.gradient + at, g);
    if constexpr (kind != Activation::kNone) {
      Sum<T> saved[kCount];
      load(p.saved + at, saved);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        g[k] *= activation_slope<kind>(saved[k] + bias[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) sum[k] += g[k];
    if (p.before != nullptr) store(g, p.before + at);
  }
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    shared[k * kThreads + threadIdx.x] = sum[k];
  }
  __syncthreads();
  if (!works || place.lane > 0) return;
  for (int other = 1; other < place.lanes; ++other) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      sum[k] += shared[k * kThreads + other * tile + threadIdx.x];
    }
  }
  store(sum, p.sums + int64_t{blockIdx.x} * p.channels + place.channel);
}

template <class T>
void bias_act(const BiasAct<T>& p, void* stream) {
  if (p.rows == 0 || p.channels == 0) return;
  const Sharing sharing = Sharing::of<T>(p.channels);
  const auto blocks = static_cast<unsigned>(
      std::min<int64_t>(kMostBlocks, blocks_for(p.rows, sharing.lanes)));
  for_activation(p.activation, [&]<Activation kind>() {
    bias_act_kernel<T, kind>
        <<<dim3(blocks, sharing.tiles), sharing.threads(), 0,
           static_cast<cudaStream_t>(stream)>>>(p, sharing.tile);
  });
  check_cuda(cudaGetLastError(), "bias_act");
}

template <class T>
void bias_act_gradient(const BiasActGradient<T>& p, void* stream) {
  if (p.channels == 0) return;
  const Sharing sharing = Sharing::of<T>(p.channels);
  for_activation(p.activation, [&]<Activation kind>() {
    bias_act_gradient_kernel<T, kind>
        <<<dim3(static_cast<unsigned>(p.parts), sharing.tiles),
           sharing.threads(), 0, static_cast<cudaStream_t>(stream)>>>(
            p, sharing.tile);
  });
  check_cuda(cudaGetLastError(), "bias_act_gradient");
}

/// 1 / sqrt(var + eps)
template <class T>
__device__ Sum<T> inverse_deviation(const NormFold<T>& p, int64_t c) {
  return 1 / sqrtf(p.var[c] + static_cast<Sum<T>>(p.eps));
}

/// A block a channel.
template <class T>
__global__ void fold_kernel(NormFold<T> p, FoldedNorm<T> to) {
  const int64_t c = blockIdx.x;
  const Sum<T> scale = p.gamma[c] * inverse_deviation(p, c);
  for (int64_t i = threadIdx.x; i < p.inner; i += kFoldThreads) {
    const Sum<T> w = p.weight[c * p.inner + i] * scale;
    if (to.weight != nullptr) to.weight[c * p.inner + i] = narrow<T>(w);
    if (to.by_place != nullptr) to.by_place[i * p.channels + c] = w;
  }
  if (threadIdx.x > 0) return;
  const Sum<T> bias = p.beta[c] - p.mean[c] * scale;
  to.bias[c] = bias;
  to.bias_as_maps[c] = narrow<T>(bias);
}

/// A block a channel; its threads' sums are added up in a fixed tree.
template <class T>
__global__ void fold_gradient_kernel(NormFold<T> p, FoldGradient<T> of) {
  __shared__ Sum<T> shared[kFoldThreads];
  const int64_t c = blockIdx.x;
  const Sum<T> inverse = inverse_deviation(p, c);
  const Sum<T> scale = p.gamma[c] * inverse;
  Sum<T> sum = 0;
  for (int64_t i = threadIdx.x; i < p.inner; i += kFoldThreads) {
    const int64_t at = c * p.inner + i;
    const Sum<T> g = of.weight != nullptr ? widen(of.weight[at])
                                          : of.by_place[i * p.channels + c];
    sum += g * p.weight[at];
    of.to_weight[at] = g * scale;
  }
  shared[threadIdx.x] = sum;
  for (unsigned half = kFoldThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  if (threadIdx.x > 0) return;
  of.to_gamma[c] = (shared[0] - of.bias[c] * p.mean[c]) * inverse;
}

template <class T>
void fold(const NormFold<T>& p, const FoldedNorm<T>& to, void* stream) {
  if (p.channels == 0) return;
  fold_kernel<<<static_cast<unsigned>(p.channels), kFoldThreads, 0,
                static_cast<cudaStream_t>(stream)>>>(p, to);
  check_cuda(cudaGetLastError(), "fold");
}

template <class T>
void fold_gradient(const NormFold<T>& p, const FoldGradient<T>& of,
                   void* stream) {
  if (p.channels == 0) return;
  fold_gradient_kernel<<<static_cast<unsigned>(p.channels), kFoldThreads, 0,
                         static_cast<cudaStream_t>(stream)>>>(p, of);
  check_cuda(cudaGetLastError(), "fold_gradient");
}

/// A block is a row of y, a thread a position.
template <class T, class From, int kIn>
__global__ void __launch_bounds__(kStemThreads)
    stem_map_kernel(StemMap<T> p, const From* x) {
  constexpr int kCount = kPack<T>;
  constexpr int kPacks = StemMap<T>::kChannels / kCount;
  const int64_t image = blockIdx.x / p.out_height;
  const int64_t row = 2 * (blockIdx.x % p.out_height - p.before);
  const bool has_row = row >= 0 && row < p.height;
  for (int64_t j = threadIdx.x; j < p.out_width; j += kStemThreads) {
    const int64_t column = 2 * (j - p.before);
    Sum<T> numbers[kPacks][kCount] = {};
    if (has_row && column >= 0 && column < p.width) {
#pragma unroll
      for (int below = 0; below < 2; ++below) {
        // Two positions of x lie together.
        const From* from =
            x + ((image * p.height + row + below) * p.width + column) * kIn;
#pragma unroll
        for (int k = 0; k < 2 * kIn; ++k) {
          const int channel = 2 * kIn * below + k;
          numbers[channel / kCount][channel % kCount] = widen(from[k]);
        }
      }
    }
    T* y = p.y + (blockIdx.x * p.out_width + j) * StemMap<T>::kChannels;
#pragma unroll
    for (int pack = 0; pack < kPacks; ++pack) {
      store(numbers[pack], y + pack * kCount);
    }
  }
}

template <class T, class From>
void run_stem_map(const StemMap<T>& p, const From* x, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(p.images * p.out_height);
  switch (p.channels) {
    case 1:
      stem_map_kernel<T, From, 1><<<blocks, kStemThreads, 0, stream>>>(p, x);
      break;
    case 2:
      stem_map_kernel<T, From, 2><<<blocks, kStemThreads, 0, stream>>>(p, x);
      break;
    case 3:
      stem_map_kernel<T, From, 3><<<blocks, kStemThreads, 0, stream>>>(p, x);
      break;
    default:
      stem_map_kernel<T, From, 4><<<blocks, kStemThreads, 0, stream>>>(p, x);
  }
}

template <class T>
void stem_map(const StemMap<T>& p, void* stream) {
  if (p.images == 0) return;
  const auto own = static_cast<cudaStream_t>(stream);
  if (p.x != nullptr) {
    run_stem_map(p, p.x, own);
  } else {
    run_stem_map(p, p.wide, own);
  }
  check_cuda(cudaGetLastError(), "stem_map");
}

template <class T>
constexpr ConvKernels<T> kKernels = {kPack<T>,
                                     bias_act<T>,
                                     bias_act_gradient<T>,
                                     run_depthwise<T>,
                                     run_depthwise_input<T>,
                                     run_depthwise_weight<T>,
                                     fold<T>,
                                     fold_gradient<T>,
                                     stem_map<T>};
template <class T>
constexpr ConvKernels<T> kNotOnAGpu = {};

}  // namespace

template <>
const ConvKernels<float>& cuda_conv_kernels<float>() {
  return kNotOnAGpu<float>;
}
template <>
const ConvKernels<Bf16>& cuda_conv_kernels<Bf16>() {
  return kKernels<Bf16>;
}
template <>
const ConvKernels<double>& cuda_conv_kernels<double>() {
  return kNotOnAGpu<double>;
}

}  // namespace kith
