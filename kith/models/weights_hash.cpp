#include "kith/models/weights_hash.h"

#include <torch/torch.h>

#include "kith/core/sha256.h"
#include "kith/io/tensor_io.h"

namespace kith {

std::string weights_hash(const NamedTensors& tensors) {
  Sha256 hash;
  for (const auto& [name, tensor] : tensors) {
    const Tensor plain = tensor.detach().cpu().contiguous();
    std::string line = name + " " + c10::toString(plain.scalar_type());
    for (const int64_t size : plain.sizes()) {
      line += ' ';
      line += std::to_string(size);
    }
    line += "\n";
    hash.add(line.data(), line.size());
    const ArrayView view = view_of(plain);
    hash.add(view.data, static_cast<size_t>(view.byte_size()));
  }
  return hash.hex();
}

}  // namespace kith
