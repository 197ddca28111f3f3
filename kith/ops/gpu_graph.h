#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <c10/core/Device.h>

namespace kith {

/// Work that was recorded on a GPU: a CUDA graph.
class GpuGraph {
 public:
  virtual ~GpuGraph() = default;

  /// Starts it on the stream on which LibTorch works at the moment.
  virtual void run() = 0;
};

/// Memory of LibTorch's that only recordings have. Those that share it must not
/// run at the same time, and run in the order in which they were recorded if
/// one needs what another made.
using GraphMemory = std::pair<unsigned long long, unsigned long long>;
GraphMemory new_graph_memory();

/// Records what `work` starts on a GPU from this thread and from that of a
/// backward pass, without computing anything. What other threads do meanwhile,
/// such as taking page-locked memory, is not disturbed. What `work` throws
/// leaves LibTorch as it was. RunError where there are no graphs.
std::unique_ptr<GpuGraph> record_on_gpu(c10::Device device, GraphMemory memory,
                                        const std::function<void()>& work);

}  // namespace kith
