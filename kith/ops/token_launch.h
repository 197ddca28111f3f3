#pragma once

// From LibTorch's tensors to the kernels of token_kernels.h.

#include <cstdint>
#include <type_traits>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>

#include "kith/core/tensor.h"
#include "kith/ops/gpu.h"
#include "kith/ops/token_kernels.h"

namespace kith {

/// A tensor or, in the place of one that is not there, an empty one: what
/// LibTorch's functions with a gradient can take.
inline Tensor given(const Tensor& tensor, const Tensor& like) {
  return tensor.defined() ? tensor : at::empty({0}, like.options());
}
inline bool is_given(const Tensor& tensor) {
  // [0, T, width] is there: tokens of no picture.
  return tensor.defined() && !(tensor.dim() == 1 && tensor.size(0) == 0);
}

/// As kernels read it: without gaps, and at a multiple of 32 bytes, which is as
/// much as a thread reads at a time.
inline Tensor laid_out(const Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const Tensor dense = tensor.contiguous();
  const auto at = reinterpret_cast<std::uintptr_t>(dense.data_ptr());
  return at % 32 == 0 ? dense : dense.clone();
}

/// Null for a tensor that is not there.
template <class T>
T* given_numbers(const Tensor& tensor) {
  return is_given(tensor) ? static_cast<T*>(tensor.data_ptr()) : nullptr;
}

template <class T>
constexpr at::ScalarType kTypeOf = std::is_same_v<T, double> ? at::kDouble
                                   : std::is_same_v<T, Bf16> ? at::kBFloat16
                                                             : at::kFloat;

/// Whether there are kernels for tokens of one type whose products are computed
/// in another.
inline bool has_token_ops(c10::Device device, at::ScalarType tokens,
                          at::ScalarType products) {
  const bool are_rounded = tokens == at::kFloat && products == at::kBFloat16;
  if (device.is_cuda()) {
    return are_rounded && cuda_token_ops<float, Bf16>().activate != nullptr;
  }
  return device.is_cpu() &&
         (are_rounded || (tokens == products &&
                          (tokens == at::kFloat || tokens == at::kDouble)));
}

/// run(S{}, C{}) for the two types, which have kernels.
template <class Run>
auto with_types(at::ScalarType tokens, at::ScalarType products,
                const Run& run) {
  if (tokens == at::kDouble) return run(double{}, double{});
  if (products == at::kBFloat16) return run(float{}, Bf16{});
  return run(float{}, float{});
}

/// Runs `cpu` or `cuda`, the same kernel for each, on all parts.
template <class P>
void run_on_parts(const Tensor& where, int64_t parts, const P& problem,
                  void (*cpu)(const P&, const RowLaunch&),
                  void (*cuda)(const P&, const RowLaunch&)) {
  if (where.is_cuda()) {
    const c10::DeviceGuard guard(where.device());
    cuda(problem, {0, parts, current_stream()});
    return;
  }
  at::parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    cpu(problem, {begin, end, nullptr});
  });
}

}  // namespace kith
