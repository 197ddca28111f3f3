#include "kith/ops/gpu_graph.h"

#include "kith/core/error.h"

namespace kith {

GraphMemory new_graph_memory() { return {}; }

std::unique_ptr<GpuGraph> record_on_gpu(c10::Device, GraphMemory,
                                        const std::function<void()>&) {
  throw RunError("this build has no CUDA");
}

}  // namespace kith
