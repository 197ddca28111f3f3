#pragma once

#include <cstdint>
#include <string>

namespace kith {

/// While one lives, the tensors that this thread makes on the CPU may take so
/// many bytes, all together: a file from elsewhere that asks for a network of
/// terabytes is refused before the memory is taken.
class TensorLimit {
 public:
  /// DataError with `what` where it would be more.
  TensorLimit(uint64_t bytes, std::string what);
  ~TensorLimit();
  TensorLimit(const TensorLimit&) = delete;
  TensorLimit& operator=(const TensorLimit&) = delete;

  /// Counts a tensor; throws.
  void take(uint64_t bytes);

 private:
  uint64_t left_;
  std::string what_;
  TensorLimit* outer_;
};

}  // namespace kith
