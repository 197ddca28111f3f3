#pragma once

#include "kith/core/tensor.h"
#include "kith/core/torch_compat.h"
#include "kith/ops/bf16.h"

// What the layers share that are fused: kernels of kith's own for what LibTorch
// does in several passes over a map.

namespace kith {

/// While one lives, layers on the CPU are fused too, although LibTorch's are
/// faster there: for tests, which have no GPU.
class FusedOnCpu {
 public:
  FusedOnCpu();
  ~FusedOnCpu();
  FusedOnCpu(const FusedOnCpu&) = delete;
  FusedOnCpu& operator=(const FusedOnCpu&) = delete;

 private:
  bool before_;
};

/// While one lives, layers are not fused, on a GPU neither: for comparisons
/// with LibTorch's.
class LayersAlone {
 public:
  LayersAlone();
  ~LayersAlone();
  LayersAlone(const LayersAlone&) = delete;
  LayersAlone& operator=(const LayersAlone&) = delete;

 private:
  bool before_;
};

/// Whether what is made of `x` is to be made by kernels of kith's own, if there
/// are any for it: on a GPU, in any precision.
bool takes_own_kernels(const Tensor& x);

/// Whether layers that are given `x` are to be fused: on a GPU for which kith
/// has kernels in bfloat16, under an Autocast to that or as they are.
bool takes_fused_way(const Tensor& x);

/// The type of maps on that way.
at::ScalarType fused_type(const Tensor& x);

/// The type that sums over numbers of `type` have, and what is learnt.
at::ScalarType sum_type(at::ScalarType type);

/// Calls run.template operator()<T>() for the type of maps: float, double or
/// Bf16.
template <class Run>
void for_map_type(at::ScalarType type, const Run& run) {
  switch (type) {
    case at::kBFloat16:
      return run.template operator()<Bf16>();
    case at::kDouble:
      return run.template operator()<double>();
    default:
      TORCH_INTERNAL_ASSERT(type == at::kFloat);
      return run.template operator()<float>();
  }
}

/// An error in a backward pass that is to have a gradient itself: of what is
/// fused there is none. `what` is the function.
void refuse_second_derivative(const char* what);

/// Null if it is undefined.
template <class T>
T* numbers(const Tensor& tensor) {
  return tensor.defined() ? static_cast<T*>(tensor.data_ptr()) : nullptr;
}

/// Whether the numbers of two tensors come in the same order in memory. Strides
/// of what has size 1 mean nothing: those of a gradient are often others.
inline bool lie_in_one_order(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  for (int64_t i = 0; i < a.dim(); ++i) {
    if (a.size(i) > 1 && a.stride(i) != b.stride(i)) return false;
  }
  return true;
}

/// The numbers of `tensor` in the order in memory of those of `like`, which has
/// no gaps.
inline Tensor laid_as(const Tensor& like, const Tensor& tensor) {
  if (lie_in_one_order(tensor, like)) return tensor;
  return at::empty_like(like, tensor.options()).copy_(tensor);
}

/// As kernels take it: with channels last and without gaps.
inline Tensor as_map(const Tensor& x, at::ScalarType type) {
  return x.to(type).contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace kith
