#include "kith/ops/gpu_graph.h"

#include <optional>
#include <vector>

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "kith/core/error.h"
#include "kith/core/torch_compat.h"

namespace kith {

GraphMemory new_graph_memory() { return at::cuda::graph_pool_handle(); }

#if KITH_TORCH_AT_LEAST(2, 4)
namespace {

/// With the other modes a call of any thread that is not safe in a recording,
/// such as a loader's for page-locked memory, would fail, in that thread.
constexpr cudaStreamCaptureMode kMode = cudaStreamCaptureModeRelaxed;

class CapturedGraph final : public GpuGraph {
 public:
  void run() override { graph.replay(); }

  at::cuda::CUDAGraph graph;
};

/// A stream a thread and GPU that nothing else works on: LibTorch's streams are
/// handed out again after a while, and a copy of somebody else's would become
/// part of the recording.
c10::cuda::CUDAStream recording_stream(c10::DeviceIndex index) {
  thread_local std::vector<std::optional<c10::cuda::CUDAStream>> streams;
  const auto place = static_cast<size_t>(index);
  if (streams.size() <= place) streams.resize(place + 1);
  if (!streams[place]) {
    cudaStream_t made = nullptr;
    C10_CUDA_CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    streams[place] = c10::cuda::getStreamFromExternal(made, index);
  }
  return *streams[place];
}

/// Some errors only show in the state of the recording.
void check_recording(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  C10_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  if (status != cudaStreamCaptureStatusActive) {
    throw RunError("something in it cannot be recorded");
  }
}

/// LibTorch puts its allocators and random numbers in order behind a recording
/// that went well, and not behind one that broke: that one is ended here, and
/// one of nothing ends in its place.
void give_up(at::cuda::CUDAGraph& graph, cudaStream_t stream) {
  cudaGraph_t broken = nullptr;
  static_cast<void>(cudaStreamEndCapture(stream, &broken));
  if (broken != nullptr) static_cast<void>(cudaGraphDestroy(broken));
  static_cast<void>(cudaGetLastError());  // known already
  C10_CUDA_CHECK(cudaStreamBeginCapture(stream, kMode));
  // LibTorch warns of graphs that are empty.
  C10_CUDA_CHECK(cudaLaunchHostFunc(
      stream, [](void*) {}, nullptr));
  graph.capture_end();
}

}  // namespace

std::unique_ptr<GpuGraph> record_on_gpu(c10::Device device, GraphMemory memory,
                                        const std::function<void()>& work) {
  const c10::cuda::CUDAGuard on_device(device.index());
  // Some versions seed before they record. A run that has not ended, of a
  // recording made before, must not find that seed in place of its own.
  c10::cuda::getCurrentCUDAStream(device.index()).synchronize();
  const c10::cuda::CUDAStream stream = recording_stream(device.index());
  const c10::cuda::CUDAStreamGuard on_stream(stream);
  auto captured = std::make_unique<CapturedGraph>();
  captured->graph.capture_begin(memory, kMode);
  try {
    work();
    check_recording(stream.stream());
  } catch (...) {
    give_up(captured->graph, stream.stream());
    throw;
  }
  captured->graph.capture_end();
  stream.synchronize();  // nor may a run overtake the seed
  return captured;
}
#else
// Earlier versions record in the mode that makes calls of other threads fail.
std::unique_ptr<GpuGraph> record_on_gpu(c10::Device, GraphMemory,
                                        const std::function<void()>&) {
  throw RunError("it needs LibTorch 2.4 or later");
}
#endif

}  // namespace kith
