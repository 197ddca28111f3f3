#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kith/core/error.h"

namespace kith {

/// Element types that kith reads and writes. F16 and BF16 are carried as raw
/// 16-bit patterns, kBool as one byte per element (0 or 1).
enum class DType : uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kU8,
  kBool,
};

/// Bytes of one element.
constexpr int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

/// Short name for messages: "f32".
constexpr std::string_view dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "f64";
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kI64:
      return "i64";
    case DType::kI32:
      return "i32";
    case DType::kU8:
      return "u8";
    case DType::kBool:
      return "bool";
  }
  return "?";
}

/// Whether elements of `dtype` may be looked at as T. The 16-bit floats are
/// seen as uint16_t and kBool as uint8_t: a file may hold bytes that are no
/// valid C++ bool.
template <typename T>
constexpr bool viewable_as(DType dtype) {
  if constexpr (std::is_same_v<T, double>) return dtype == DType::kF64;
  if constexpr (std::is_same_v<T, float>) return dtype == DType::kF32;
  if constexpr (std::is_same_v<T, int64_t>) return dtype == DType::kI64;
  if constexpr (std::is_same_v<T, int32_t>) return dtype == DType::kI32;
  if constexpr (std::is_same_v<T, uint16_t>) {
    return dtype == DType::kF16 || dtype == DType::kBF16;
  }
  if constexpr (std::is_same_v<T, uint8_t>) {
    return dtype == DType::kU8 || dtype == DType::kBool;
  }
  return false;
}

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
