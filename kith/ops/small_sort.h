#pragma once

#include <cstdint>

namespace kith {

/// Sorting a batch by label and finding its classes, as sort_by_label() and
/// class_ranges() do, in two launches on a GPU: a general sort and its
/// companions are 20, which for batches of a few thousand cost more than the
/// work. Pointers are to memory of the GPU.
struct SmallSort {
  const int64_t* labels = nullptr;  ///< [count]
  int64_t count = 0;
  int64_t* order = nullptr;  ///< [count]
  int64_t* first = nullptr;  ///< [count]
  int64_t* last = nullptr;   ///< [count]
  int64_t* slot = nullptr;   ///< [count]
  int64_t* facts = nullptr;  ///< [3] slots, largest class, classes of one
};

/// The largest count that it takes; 0 without CUDA.
int64_t most_for_small_sort();

/// `stream` is a cudaStream_t.
void sort_small_batch(const SmallSort& batch, void* stream);

}  // namespace kith
