#pragma once

#include <functional>
#include <memory>

#include <c10/core/Device.h>

#include "kith/core/tensor.h"

namespace kith {

/// A copy of host memory to a device that runs beside the computation there:
/// on a GPU on a stream of its own, if the host memory is page-locked. The
/// host memory must stay as it is until the work that uses the copy is done.
class Upload {
 public:
  Upload() = default;

  /// Starts the copy.
  Upload(const Tensor& host, c10::Device device);

  /// The copy. What is started on the device from now on waits for it.
  Tensor get() const;

  /// Returns when the host memory has been read.
  void wait() const;

 private:
  Tensor copy_;
  std::shared_ptr<void> done_;  ///< The event after the copy; null: none.
};

/// A copy of numbers of a GPU to the host, which waits for what was started
/// before it and not for what is started until get(), which any thread may
/// call.
class Download {
 public:
  Download() = default;

  /// Starts the copy.
  explicit Download(const Tensor& numbers);

  /// The numbers, on the CPU; undefined if there are none.
  Tensor get() const;

 private:
  Tensor copy_;
  std::shared_ptr<void> done_;  ///< The event after the copy; null: none.
};

/// Makes page-locked memory, from which a GPU copies on its own. Plain memory
/// in a build without CUDA.
std::shared_ptr<uint8_t[]> page_locked(size_t bytes);

/// Locks pages that are there, for as long as the process lives, so that all
/// GPUs copy from them on their own. False if that cannot be. In a build
/// without CUDA nothing copies on its own, and any memory will do.
bool lock_pages(void* begin, size_t bytes);

}  // namespace kith
