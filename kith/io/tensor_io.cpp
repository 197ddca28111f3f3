#include "kith/io/tensor_io.h"

#include <cstring>
#include <sstream>

#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/io/npy.h"

namespace kith {
namespace {

std::string described(const Tensor& tensor) {
  std::ostringstream text;
  text << tensor.scalar_type() << " " << tensor.sizes();
  return text.str();
}

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return at::kDouble;
    case DType::kF32:
      return at::kFloat;
    case DType::kF16:
      return at::kHalf;
    case DType::kBF16:
      return at::kBFloat16;
    case DType::kI64:
      return at::kLong;
    case DType::kI32:
      return at::kInt;
    case DType::kU8:
      return at::kByte;
    case DType::kBool:
      return at::kBool;
  }
  KITH_ASSERT(false);
  return at::kFloat;
}

DType dtype_of(const Tensor& tensor) {
  for (DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16,
                      DType::kI64, DType::kI32, DType::kU8, DType::kBool}) {
    if (scalar_type(dtype) == tensor.scalar_type()) return dtype;
  }
  throw DataError("tensors of type " + described(tensor) +
                  " cannot be written to a file");
}

Tensor to_tensor(const Array& array) {
  Tensor tensor = torch::empty(array.shape, scalar_type(array.dtype));
  if (!array.bytes.empty()) {
    std::memcpy(tensor.data_ptr(), array.bytes.data(), array.bytes.size());
  }
  return tensor;
}

ArrayView view_of(const Tensor& tensor) {
  KITH_ASSERT(tensor.is_contiguous() && tensor.device().is_cpu());
  return ArrayView(dtype_of(tensor), tensor.sizes().vec(), tensor.data_ptr());
}

Tensor load_npy(const std::string& path) { return to_tensor(read_npy(path)); }

void save_npy(const std::string& path, const Tensor& tensor) {
  const Tensor plain = tensor.detach().cpu().contiguous();
  write_npy(path, view_of(plain));
}

Tensor load_embeddings(const std::string& path) {
  Tensor tensor = load_npy(path);
  if (tensor.dim() != 2 || tensor.numel() == 0 || !tensor.is_floating_point()) {
    throw DataError(path + ": embeddings must be floating point [N, D], got " +
                    described(tensor));
  }
  if (tensor.scalar_type() == at::kHalf) tensor = tensor.to(at::kFloat);
  const Tensor bad = torch::isfinite(tensor).all(1).logical_not().nonzero();
  if (bad.size(0) > 0) {
    throw DataError(path + ": row " +
                    std::to_string(bad[0][0].item<int64_t>()) +
                    " has a NaN or infinite value; rows with one: " +
                    std::to_string(bad.size(0)));
  }
  return tensor;
}

Tensor load_labels(const std::string& path, int64_t expected) {
  const Tensor tensor = load_npy(path);
  if (tensor.dim() != 1 ||
      (tensor.scalar_type() != at::kLong && tensor.scalar_type() != at::kInt)) {
    throw DataError(path +
                    ": labels must be integers [N] (int64 or int32), "
                    "got " +
                    described(tensor));
  }
  if (expected >= 0 && tensor.size(0) != expected) {
    throw DataError(path + ": " + std::to_string(tensor.size(0)) +
                    " labels for " + std::to_string(expected) + " embeddings");
  }
  return tensor.to(at::kLong);
}

}  // namespace kith
