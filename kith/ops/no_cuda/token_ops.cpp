#include "kith/ops/token_kernels.h"

namespace kith {
namespace {

template <class S, class C, class N>
constexpr AddNormOps<S, C, N> kNoAddNorm = {};
template <class S, class C>
constexpr TokenOps<S, C> kNoTokens = {};

}  // namespace

template <>
const AddNormOps<float, float, float>& cuda_add_norm_ops() {
  return kNoAddNorm<float, float, float>;
}
template <>
const AddNormOps<double, double, double>& cuda_add_norm_ops() {
  return kNoAddNorm<double, double, double>;
}
template <>
const AddNormOps<float, Bf16, Bf16>& cuda_add_norm_ops() {
  return kNoAddNorm<float, Bf16, Bf16>;
}
template <>
const AddNormOps<float, Bf16, float>& cuda_add_norm_ops() {
  return kNoAddNorm<float, Bf16, float>;
}
template <>
const TokenOps<float, float>& cuda_token_ops() {
  return kNoTokens<float, float>;
}
template <>
const TokenOps<double, double>& cuda_token_ops() {
  return kNoTokens<double, double>;
}
template <>
const TokenOps<float, Bf16>& cuda_token_ops() {
  return kNoTokens<float, Bf16>;
}

}  // namespace kith
