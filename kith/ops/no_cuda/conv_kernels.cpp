#include "kith/ops/conv_kernels.h"

namespace kith {
namespace {

template <class T>
constexpr ConvKernels<T> kNoConvKernels = {};

}  // namespace

template <>
const ConvKernels<float>& cuda_conv_kernels<float>() {
  return kNoConvKernels<float>;
}
template <>
const ConvKernels<double>& cuda_conv_kernels<double>() {
  return kNoConvKernels<double>;
}
template <>
const ConvKernels<Bf16>& cuda_conv_kernels<Bf16>() {
  return kNoConvKernels<Bf16>;
}

}  // namespace kith
