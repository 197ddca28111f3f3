#pragma once

#include <memory>

#include <c10/core/Device.h>

#include "kith/core/tensor.h"

namespace kith {

/// A point in the work of a GPU, for work on another stream that has to wait
/// until then. On the CPU work is done when a function returns, and a point is
/// nothing.
class StreamPoint {
 public:
  StreamPoint() = default;
  /// Behind what this thread has started on `device` until now.
  explicit StreamPoint(c10::Device device);

  /// What this thread starts on the device from now on waits for the point.
  void wait() const;

  /// Returns when the work before the point is done.
  void reach() const;

 private:
  std::shared_ptr<void> event_;  ///< Null: nothing to wait for.
};

/// While it lives, what this thread starts on a GPU runs beside what other
/// threads start there.
class OwnStream {
 public:
  explicit OwnStream(c10::Device device);
  ~OwnStream();
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

 private:
  std::unique_ptr<void, void (*)(void*)> guard_;
};

/// The memory of a tensor from another stream is not used for others before the
/// work that this thread has started until the tensor is gone is done.
void use_on_this_stream(const Tensor& tensor);

}  // namespace kith
