#pragma once

#include <string>

#include "kith/core/tensor.h"
#include "kith/io/array.h"

namespace kith {

at::ScalarType scalar_type(DType dtype);

/// Throws DataError for element types that files do not hold.
DType dtype_of(const Tensor& tensor);

/// A tensor on the CPU that owns a copy of the array's data.
Tensor to_tensor(const Array& array);

/// A view of a contiguous CPU tensor, for writers. The tensor must outlive it.
ArrayView view_of(const Tensor& tensor);

Tensor load_npy(const std::string& path);
void save_npy(const std::string& path, const Tensor& tensor);

/// Embeddings as users give them: float16/32/64 [N, D] with N, D > 0 and only
/// finite numbers; float16 becomes float32. DataError names the file.
Tensor load_embeddings(const std::string& path);

/// int32 or int64 [N], as int64. DataError if it is not, or N differs from
/// `expected` (when that is not negative).
Tensor load_labels(const std::string& path, int64_t expected = -1);

}  // namespace kith
