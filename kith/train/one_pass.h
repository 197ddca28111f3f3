#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include <ATen/Parallel.h>
#include <c10/core/DeviceGuard.h>

#include "kith/core/tensor.h"
#include "kith/ops/fused_way.h"
#include "kith/ops/gpu.h"
#include "kith/ops/optimizer_kernels.h"

namespace kith {

/// Lists of tensors of which those at one place belong together, such as a
/// parameter, its gradient and a running mean of that.
template <size_t kLists>
using TensorLists = std::array<std::vector<Tensor>, kLists>;

/// Whether a step can go over them in one pass: float32 without gaps, on the
/// CPU or on one GPU for which kith has kernels, and those that belong together
/// in the same order in memory.
template <size_t kLists>
bool lie_alike(const TensorLists<kLists>& lists) {
  if (lists[0][0].is_cuda() && gpu_steps.squares == nullptr) return false;
  for (const std::vector<Tensor>& list : lists) {
    for (size_t i = 0; i < list.size(); ++i) {
      const Tensor& one = list[i];
      if (one.device() != lists[0][0].device() ||
          !(one.is_cpu() || one.is_cuda()) || one.scalar_type() != at::kFloat ||
          one.layout() != at::kStrided || !one.is_non_overlapping_and_dense() ||
          !lie_in_one_order(one, lists[0][i])) {
        return false;
      }
    }
  }
  return true;
}

/// The same as kernels of a GPU take them; those but the first are changed.
template <size_t kLists>
std::vector<NumberLists<static_cast<int>(kLists)>> as_number_lists(
    const TensorLists<kLists>& lists) {
  std::vector<NumberLists<static_cast<int>(kLists)>> all(lists[0].size());
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].count = lists[0][i].numel();
    for (size_t k = 0; k < kLists; ++k) {
      all[i].data[k] = lists[k][i].template data_ptr<float>();
      if (k > 0) lists[k][i].unsafeGetTensorImpl()->bump_version();
    }
  }
  return all;
}

/// Calls step(lists as kernels take them, stream) on the GPU that they are on.
template <size_t kLists, class Step>
void on_gpu(const TensorLists<kLists>& lists, const Step& step) {
  const c10::DeviceGuard guard(lists[0][0].device());
  step(as_number_lists(lists), current_stream());
}

/// On the CPU: calls work(data, count), data[k] being at `count` numbers of a
/// tensor of the k-th list, for all numbers of all tensors, on LibTorch's
/// threads. It may change what is in all lists but the first. Tensors are cut
/// in the same places however many threads there are.
template <size_t kLists, class Work>
void in_one_pass(const TensorLists<kLists>& lists, const Work& work) {
  struct Piece {
    std::array<float*, kLists> data;
    int64_t count;
  };
  constexpr int64_t kPiece = 1 << 14;
  std::vector<Piece> pieces;
  for (size_t i = 0; i < lists[0].size(); ++i) {
    const int64_t numbers = lists[0][i].numel();
    std::array<float*, kLists> data;
    for (size_t k = 0; k < kLists; ++k) {
      data[k] = lists[k][i].template data_ptr<float>();
      // A graph that still needs the numbers from before is an error.
      if (k > 0) lists[k][i].unsafeGetTensorImpl()->bump_version();
    }
    for (int64_t begin = 0; begin < numbers; begin += kPiece) {
      pieces.push_back({data, std::min(kPiece, numbers - begin)});
      for (float*& at : data) at += pieces.back().count;
    }
  }
  at::parallel_for(0, std::ssize(pieces), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Piece& piece = pieces[static_cast<size_t>(i)];
      work(piece.data, piece.count);
    }
  });
}

}  // namespace kith
