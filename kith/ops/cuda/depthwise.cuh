#pragma once

#include "kith/ops/conv_kernels.h"

namespace kith {

// The parts of ConvKernels that are convolutions within channels, for Bf16.

/// Channels of a thread.
constexpr int kDepthwiseChannels = 4;

template <class T>
void run_depthwise(const Depthwise<T>& p, const T* x, const Sum<T>* bias,
                   Activation activation, T* y, void* stream);
template <class T>
void run_depthwise_input(const Depthwise<T>& p, const T* g, T* dx,
                         void* stream);
template <class T>
void run_depthwise_weight(const Depthwise<T>& p, const T* x, const T* g,
                          Sum<T>* sums, int64_t parts, void* stream);

}  // namespace kith
