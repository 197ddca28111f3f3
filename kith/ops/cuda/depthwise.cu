// Convolutions within channels of maps whose channels lie last. All three are
// bound by memory: a thread has four channels of four neighbouring positions in
// a row and goes down the map, so what the rows of a kernel share comes from
// the nearest cache, and each number is read from memory about once. Threads of
// a warp have neighbouring channels, then neighbouring positions.

#include <algorithm>
#include <stdexcept>

#include "kith/ops/cuda/depthwise.cuh"
#include "kith/ops/cuda/launch.cuh"
#include "kith/ops/cuda/packs.cuh"

namespace kith {
namespace {

constexpr int kChannels = kDepthwiseChannels;
constexpr int kStrip = 4;  ///< Positions of a thread in a row.
constexpr int kRows = 14;  ///< Rows that a thread goes down.
constexpr int kThreads = 128;

/// How a map is cut into strips of kStrip x kRows positions.
struct Strips {
  int64_t groups;  ///< Of channels.
  int64_t across;  ///< Strips beside each other.
  int64_t down;    ///< Below each other.
  int64_t count;   ///< Of all pictures, for one group.
};

template <class T>
Strips strips_of(const Depthwise<T>& p, int64_t height, int64_t width) {
  Strips s;
  s.groups = p.channels / kChannels;
  s.across = (width + kStrip - 1) / kStrip;
  s.down = (height + kRows - 1) / kRows;
  s.count = p.images * s.across * s.down;
  return s;
}

/// A strip: its picture, first row and first column.
struct Place {
  int64_t image;
  int row;
  int column;
};

__device__ Place place_of(const Strips& s, int64_t strip) {
  const int64_t across = strip % s.across;
  const int64_t rest = strip / s.across;
  return {rest / s.down, static_cast<int>(rest % s.down) * kRows,
          static_cast<int>(across) * kStrip};
}

template <class S>
__device__ S activate_as(Activation kind, S x) {
  switch (kind) {
    case Activation::kRelu:
      return activate<Activation::kRelu>(x);
    case Activation::kRelu6:
      return activate<Activation::kRelu6>(x);
    case Activation::kSilu:
      return activate<Activation::kSilu>(x);
    case Activation::kHardswish:
      return activate<Activation::kHardswish>(x);
    default:
      return x;
  }
}

/// The numbers of four channels at `column` of a row, zero outside of it.
template <class T>
__device__ void load_padded(const T* row, int column, int width,
                            int64_t channels, Sum<T> (&to)[kChannels]) {
  if (column >= 0 && column < width) {
    load(row + column * channels, to);
    return;
  }
#pragma unroll
  for (int k = 0; k < kChannels; ++k) to[k] = 0;
}

/// y = f(conv(x) + bias). With kFlip the kernel is turned round, which is the
/// gradient of stride 1.
template <class T, int kKernel, int kStride, bool kFlip>
__global__ void __launch_bounds__(kThreads)
    depthwise_kernel(Depthwise<T> p, Strips strips, const T* __restrict__ x,
                     const Sum<T>* __restrict__ bias, Activation activation,
                     T* __restrict__ y) {
  constexpr int kPadding = (kKernel - 1) / 2;
  constexpr int kColumns = kStride * (kStrip - 1) + kKernel;
  const int64_t number = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (number >= strips.groups * strips.count) return;
  const int64_t c = number % strips.groups * kChannels;
  const Place at = place_of(strips, number / strips.groups);
  const int height = static_cast<int>(p.height);
  const int width = static_cast<int>(p.width);
  const int out_width = static_cast<int>(p.out_width);
  const int row_end = min(static_cast<int>(p.out_height), at.row + kRows);
  const T* map = x + at.image * height * width * p.channels + c;
  const int64_t first_out = at.image * p.out_height * out_width;

  Sum<T> shift[kChannels] = {};
  if (bias != nullptr) load(bias + c, shift);
  Sum<T> weight[kKernel * kKernel][kChannels];
#pragma unroll
  for (int tap = 0; tap < kKernel * kKernel; ++tap) {
    const int from = kFlip ? kKernel * kKernel - 1 - tap : tap;
    load(p.weight + from * p.channels + c, weight[tap]);
  }
  for (int row = at.row; row < row_end; ++row) {
    Sum<T> sum[kStrip][kChannels];
#pragma unroll
    for (int s = 0; s < kStrip; ++s) {
#pragma unroll
      for (int k = 0; k < kChannels; ++k) sum[s][k] = shift[k];
    }
#pragma unroll
    for (int i = 0; i < kKernel; ++i) {
      const int in_row = row * kStride - kPadding + i;
      if (in_row < 0 || in_row >= height) continue;
      const T* line = map + int64_t{in_row} * width * p.channels;
      Sum<T> in[kColumns][kChannels];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        load_padded(line, at.column * kStride - kPadding + j, width, p.channels,
                    in[j]);
      }
#pragma unroll
      for (int j = 0; j < kKernel; ++j) {
#pragma unroll
        for (int s = 0; s < kStrip; ++s) {
#pragma unroll
          for (int k = 0; k < kChannels; ++k) {
            sum[s][k] += weight[i * kKernel + j][k] * in[s * kStride + j][k];
          }
        }
      }
    }
#pragma unroll
    for (int s = 0; s < kStrip; ++s) {
      const int column = at.column + s;
      if (column >= out_width) continue;
#pragma unroll
      for (int k = 0; k < kChannels; ++k) {
        sum[s][k] = activate_as(activation, sum[s][k]);
      }
      store(
          sum[s],
          y + (first_out + int64_t{row} * out_width + column) * p.channels + c);
    }
  }
}

/// dx of stride 2: a thread has two by two positions of x at a time, all that
/// the outputs around one place reach.
template <class T, int kKernel>
__global__ void __launch_bounds__(kThreads)
    depthwise_input2_kernel(Depthwise<T> p, int64_t rows, int64_t columns,
                            const T* __restrict__ g, T* __restrict__ dx) {
  constexpr int kPadding = (kKernel - 1) / 2;
  constexpr int kFirst = -(kPadding / 2);
  constexpr int kLast = (kPadding + 1) / 2;
  const int64_t groups = p.channels / kChannels;
  int64_t number = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (number >= groups * columns * rows * p.images) return;
  const int64_t c = number % groups * kChannels;
  number /= groups;
  const int column = static_cast<int>(number % columns);
  number /= columns;
  const int row = static_cast<int>(number % rows);
  const int64_t image = number / rows;
  const int out_height = static_cast<int>(p.out_height);
  const int out_width = static_cast<int>(p.out_width);
  const T* map = g + image * out_height * out_width * p.channels + c;

  Sum<T> sum[2][2][kChannels] = {};
#pragma unroll
  for (int i = kFirst; i <= kLast; ++i) {
    if (row + i < 0 || row + i >= out_height) continue;
    const T* line = map + int64_t{row + i} * out_width * p.channels;
#pragma unroll
    for (int j = kFirst; j <= kLast; ++j) {
      Sum<T> out[kChannels];
      load_padded(line, column + j, out_width, p.channels, out);
#pragma unroll
      for (int a = 0; a < 2; ++a) {
#pragma unroll
        for (int b = 0; b < 2; ++b) {
          // 2 (row + i) - padding + tap = 2 row + a
          const int tap_row = a + kPadding - 2 * i;
          const int tap_column = b + kPadding - 2 * j;
          if (tap_row < 0 || tap_row >= kKernel || tap_column < 0 ||
              tap_column >= kKernel) {
            continue;
          }
          Sum<T> weight[kChannels];
          load(p.weight + (tap_row * kKernel + tap_column) * p.channels + c,
               weight);
#pragma unroll
          for (int k = 0; k < kChannels; ++k) {
            sum[a][b][k] += weight[k] * out[k];
          }
        }
      }
    }
  }
#pragma unroll
  for (int a = 0; a < 2; ++a) {
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      const int64_t y = 2 * row + a, x = 2 * column + b;
      if (y >= p.height || x >= p.width) continue;
      store(sum[a][b],
            dx + ((image * p.height + y) * p.width + x) * p.channels + c);
    }
  }
}

/// sums [parts, kernel, kernel, channels]: a block is a part. Its threads have
/// a group of channels each and take turns at the strips; their sums are added
/// up in the order of the threads.
template <class T, int kKernel, int kStride>
__global__ void __launch_bounds__(kThreads)
    depthwise_weight_kernel(Depthwise<T> p, Strips strips, int tile,
                            const T* __restrict__ x, const T* __restrict__ g,
                            Sum<T>* __restrict__ sums) {
  constexpr int kPadding = (kKernel - 1) / 2;
  constexpr int kTaps = kKernel * kKernel;
  constexpr int kColumns = kStride * (kStrip - 1) + kKernel;
  __shared__ Sum<T> shared[kThreads * kChannels];
  const int lanes = static_cast<int>(blockDim.x) / tile;
  const int lane = static_cast<int>(threadIdx.x) / tile;
  const int64_t group =
      int64_t{blockIdx.y} * tile + static_cast<int>(threadIdx.x) % tile;
  const bool works = group < strips.groups;
  const int64_t c = group * kChannels;
  const int height = static_cast<int>(p.height);
  const int width = static_cast<int>(p.width);
  const int out_width = static_cast<int>(p.out_width);

  Sum<T> sum[kTaps][kChannels] = {};
  for (int64_t strip = int64_t{blockIdx.x} * lanes + lane;
       works && strip < strips.count; strip += int64_t{gridDim.x} * lanes) {
    const Place at = place_of(strips, strip);
    const int row_end = min(static_cast<int>(p.out_height), at.row + kRows);
    const T* map = x + at.image * height * width * p.channels + c;
    const T* out = g + at.image * p.out_height * out_width * p.channels + c;
    for (int row = at.row; row < row_end; ++row) {
      Sum<T> slope[kStrip][kChannels];
      const T* out_line = out + int64_t{row} * out_width * p.channels;
#pragma unroll
      for (int s = 0; s < kStrip; ++s) {
        load_padded(out_line, at.column + s, out_width, p.channels, slope[s]);
      }
#pragma unroll
      for (int i = 0; i < kKernel; ++i) {
        const int in_row = row * kStride - kPadding + i;
        if (in_row < 0 || in_row >= height) continue;
        const T* line = map + int64_t{in_row} * width * p.channels;
        Sum<T> in[kColumns][kChannels];
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          load_padded(line, at.column * kStride - kPadding + j, width,
                      p.channels, in[j]);
        }
#pragma unroll
        for (int j = 0; j < kKernel; ++j) {
#pragma unroll
          for (int s = 0; s < kStrip; ++s) {
#pragma unroll
            for (int k = 0; k < kChannels; ++k) {
              sum[i * kKernel + j][k] += in[s * kStride + j][k] * slope[s][k];
            }
          }
        }
      }
    }
  }
#pragma unroll
  for (int tap = 0; tap < kTaps; ++tap) {
#pragma unroll
    for (int k = 0; k < kChannels; ++k) {
      shared[threadIdx.x * kChannels + k] = sum[tap][k];
    }
    __syncthreads();
    if (works && lane == 0) {
      Sum<T> total[kChannels] = {};
      for (int other = 0; other < lanes; ++other) {
#pragma unroll
        for (int k = 0; k < kChannels; ++k) {
          total[k] += shared[(other * tile + threadIdx.x) * kChannels + k];
        }
      }
      store(total, sums + (int64_t{blockIdx.x} * kTaps + tap) * p.channels + c);
    }
    __syncthreads();
  }
}

/// Calls run.template operator()<kernel, stride>().
template <class T, class Run>
void for_shape(const Depthwise<T>& p, const Run& run) {
  const bool large = p.kernel == 5;
  if (!Depthwise<T>::has_kernel(p.kernel) ||
      !Depthwise<T>::has_stride(p.stride) || p.channels % kChannels != 0) {
    throw std::runtime_error("depthwise: no such kernel");
  }
  if (p.stride == 1) {
    return large ? run.template operator()<5, 1>()
                 : run.template operator()<3, 1>();
  }
  return large ? run.template operator()<5, 2>()
               : run.template operator()<3, 2>();
}

}  // namespace

template <class T>
void run_depthwise(const Depthwise<T>& p, const T* x, const Sum<T>* bias,
                   Activation activation, T* y, void* stream) {
  const Strips strips = strips_of(p, p.out_height, p.out_width);
  const int64_t threads = strips.groups * strips.count;
  if (threads == 0) return;
  for_shape(p, [&]<int kKernel, int kStride>() {
    depthwise_kernel<T, kKernel, kStride, false>
        <<<blocks_for(threads, kThreads), kThreads, 0,
           static_cast<cudaStream_t>(stream)>>>(p, strips, x, bias, activation,
                                                y);
  });
  check_cuda(cudaGetLastError(), "depthwise");
}

template <class T>
void run_depthwise_input(const Depthwise<T>& p, const T* g, T* dx,
                         void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  if (p.images * p.channels == 0) return;
  for_shape(p, [&]<int kKernel, int kStride>() {
    if constexpr (kStride == 1) {
      // The same sizes on both sides.
      const Strips strips = strips_of(p, p.height, p.width);
      depthwise_kernel<T, kKernel, 1, true>
          <<<blocks_for(strips.groups * strips.count, kThreads), kThreads, 0,
             on>>>(p, strips, g, nullptr, Activation::kNone, dx);
    } else {
      const int64_t rows = (p.height + 1) / 2;
      const int64_t columns = (p.width + 1) / 2;
      const int64_t threads =
          p.channels / kChannels * rows * columns * p.images;
      depthwise_input2_kernel<T, kKernel>
          <<<blocks_for(threads, kThreads), kThreads, 0, on>>>(p, rows, columns,
                                                               g, dx);
    }
  });
  check_cuda(cudaGetLastError(), "depthwise_input");
}

template <class T>
void run_depthwise_weight(const Depthwise<T>& p, const T* x, const T* g,
                          Sum<T>* sums, int64_t parts, void* stream) {
  const Strips strips = strips_of(p, p.out_height, p.out_width);
  if (strips.groups == 0) return;
  // Groups are shared out evenly, so that few threads have none.
  const int64_t tiles = blocks_for(strips.groups, kThreads);
  const int64_t tile = blocks_for(strips.groups, tiles);
  const auto threads = static_cast<unsigned>(kThreads / tile * tile);
  const dim3 grid(static_cast<unsigned>(parts), static_cast<unsigned>(tiles));
  for_shape(p, [&]<int kKernel, int kStride>() {
    depthwise_weight_kernel<T, kKernel, kStride>
        <<<grid, threads, 0, static_cast<cudaStream_t>(stream)>>>(
            p, strips, static_cast<int>(tile), x, g, sums);
  });
  check_cuda(cudaGetLastError(), "depthwise_weight");
}

template void run_depthwise(const Depthwise<Bf16>&, const Bf16*, const float*,
                            Activation, Bf16*, void*);
template void run_depthwise_input(const Depthwise<Bf16>&, const Bf16*, Bf16*,
                                  void*);
template void run_depthwise_weight(const Depthwise<Bf16>&, const Bf16*,
                                   const Bf16*, float*, int64_t, void*);

}  // namespace kith
