#include "kith/ops/pool_kernels.h"

namespace kith {
namespace {

template <class T>
constexpr PoolKernels<T> kNoPoolKernels = {};

}  // namespace

template <>
const PoolKernels<float>& cuda_pool_kernels<float>() {
  return kNoPoolKernels<float>;
}
template <>
const PoolKernels<double>& cuda_pool_kernels<double>() {
  return kNoPoolKernels<double>;
}
template <>
const PoolKernels<Bf16>& cuda_pool_kernels<Bf16>() {
  return kNoPoolKernels<Bf16>;
}

}  // namespace kith
