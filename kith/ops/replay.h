#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include <c10/core/Device.h>

#include "kith/ops/gpu_graph.h"

namespace kith {

/// Work on a device that is recorded once and then started as a whole, as often
/// as wanted. On a GPU that is a CUDA graph: where the kernels of some pictures
/// take less time than starting them one by one does, the GPU need not wait for
/// the processor. The results are the same to the bit.
///
/// Kernels are recorded with the addresses they were given. So what the work
/// reads and writes must stay where it is; tensors that it makes are written
/// anew by every run. Random numbers are drawn anew as well, from LibTorch's
/// generator for the GPU as it is then. Work that waits for the GPU, or draws
/// on the processor, cannot be recorded.
///
/// On the CPU there is nothing to record: every run calls the work.
class Replay {
 public:
  using Work = std::function<void()>;

  /// `beside`: shares the memory of that one, which is recorded first, lives as
  /// long, and never runs at the same time.
  explicit Replay(c10::Device device, const Replay* beside = nullptr);

  /// Records the work and runs it for the first time. It must have been done
  /// before as it is, with the same shapes: what libraries prepare when they
  /// meet one cannot be recorded. If this throws, a GPU has done nothing of it,
  /// and LibTorch is as it was.
  void record(Work work);

  /// As a call of the work now.
  void run();

 private:
  c10::Device device_;
  const Replay* beside_;  ///< Null: memory of its own.
  GraphMemory memory_;
  Work work_;                        ///< On the CPU.
  std::unique_ptr<GpuGraph> graph_;  ///< Else.
};

/// Numbers that a network is given at once, 128 colour pictures of 224 x 224
/// pixels: beyond, its kernels take longer than starting them does, and the
/// memory that a recording keeps for good would be missed.
constexpr int64_t kMostReplayed = int64_t{128} * 224 * 224 * 3;

/// Why something could not be recorded, in one line.
std::string why_not_recorded(const std::exception& error);

}  // namespace kith
