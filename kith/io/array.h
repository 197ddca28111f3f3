#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kith/core/error.h"
#include "kith/io/dtype.h"

namespace kith {

/// Bytes of an array of this shape, or nothing if a dimension is negative or
/// the product of the non-zero dimensions does not fit in an int64_t. A shape
/// without dimensions is one element.
std::optional<int64_t> checked_byte_size(DType dtype,
                                         std::span<const int64_t> shape);

/// A plain array in host memory, C order, little endian: what files hold.
/// bytes.size() == count() * size_of(dtype).
struct Array {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;

  /// Number of elements. The shape must be valid (see checked_byte_size).
  int64_t count() const;

  /// The elements as T; asserts that T fits the dtype (see viewable_as).
  template <typename T>
  std::span<const T> values() const {
    KITH_ASSERT(viewable_as<T>(dtype));
    return {reinterpret_cast<const T*>(bytes.data()),
            static_cast<size_t>(count())};
  }
  template <typename T>
  std::span<T> values() {
    KITH_ASSERT(viewable_as<T>(dtype));
    return {reinterpret_cast<T*>(bytes.data()), static_cast<size_t>(count())};
  }
};

/// Zero-filled array; asserts that the shape is valid.
Array make_array(DType dtype, std::vector<int64_t> shape);

/// The same without owning the memory, so that writers need no copy. The data
/// must outlive the view.
struct ArrayView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  const void* data = nullptr;

  ArrayView(DType type, std::vector<int64_t> dims, const void* first)
      : dtype(type), shape(std::move(dims)), data(first) {}
  /// Implicit, so that an Array can be given wherever a view is taken.
  ArrayView(const Array& array);  // NOLINT(google-explicit-constructor)

  /// Asserts that the shape is valid.
  int64_t byte_size() const;
};

}  // namespace kith
