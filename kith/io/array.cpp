#include "kith/io/array.h"

#include <bit>
#include <limits>
#include <utility>

namespace kith {

static_assert(std::endian::native == std::endian::little,
              "files are little endian and are read without conversion");

std::optional<int64_t> checked_byte_size(DType dtype,
                                         std::span<const int64_t> shape) {
  int64_t bytes = size_of(dtype);
  bool empty = false;
  for (const int64_t dim : shape) {
    if (dim < 0) return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (bytes > std::numeric_limits<int64_t>::max() / dim) return std::nullopt;
    bytes *= dim;
  }
  return empty ? 0 : bytes;
}

int64_t Array::count() const {
  const auto size = checked_byte_size(dtype, shape);
  KITH_ASSERT(size.has_value());
  return *size / size_of(dtype);
}

Array make_array(DType dtype, std::vector<int64_t> shape) {
  const auto size = checked_byte_size(dtype, shape);
  KITH_ASSERT(size.has_value());
  return {dtype, std::move(shape),
          std::vector<std::byte>(static_cast<size_t>(*size))};
}

ArrayView::ArrayView(const Array& array)
    : dtype(array.dtype), shape(array.shape), data(array.bytes.data()) {
  KITH_ASSERT(static_cast<size_t>(byte_size()) == array.bytes.size());
}

int64_t ArrayView::byte_size() const {
  const auto size = checked_byte_size(dtype, shape);
  KITH_ASSERT(size.has_value());
  return *size;
}

}  // namespace kith
