#include "kith/ops/upload.h"

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

namespace kith {
namespace {

/// One stream a GPU for all copies.
c10::cuda::CUDAStream copy_stream(c10::DeviceIndex index) {
  thread_local std::vector<std::optional<c10::cuda::CUDAStream>> streams;
  const auto place = static_cast<size_t>(index);
  if (streams.size() <= place) streams.resize(place + 1);
  if (!streams[place]) {
    streams[place] =
        c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index);
  }
  return *streams[place];
}

}  // namespace

Upload::Upload(const Tensor& host, c10::Device device) {
  if (!device.is_cuda()) {
    copy_ = host.to(device);
    return;
  }
  // Allocated on the copy's stream, so that the allocator cannot hand out
  // memory which the computation still uses.
  const c10::cuda::CUDAStream stream = copy_stream(device.index());
  const c10::cuda::CUDAStreamGuard guard(stream);
  copy_ = host.to(device, /*non_blocking=*/true);
  auto event = std::make_shared<at::cuda::CUDAEvent>();
  event->record(stream);
  done_ = event;
}

Tensor Upload::get() const {
  if (done_) {
    const c10::cuda::CUDAStream stream =
        c10::cuda::getCurrentCUDAStream(copy_.device().index());
    static_cast<at::cuda::CUDAEvent*>(done_.get())->block(stream);
    // The memory is not reused before this stream is done with it.
    copy_.record_stream(stream);
  }
  return copy_;
}

void Upload::wait() const {
  if (done_) static_cast<at::cuda::CUDAEvent*>(done_.get())->synchronize();
}

Download::Download(const Tensor& numbers) {
  if (!numbers.is_cuda()) {
    copy_ = numbers;
    return;
  }
  const c10::cuda::CUDAGuard guard(numbers.device());
  copy_ =
      torch::empty(numbers.sizes(),
                   numbers.options().device(torch::kCPU).pinned_memory(true));
  copy_.copy_(numbers, /*non_blocking=*/true);
  auto event = std::make_shared<at::cuda::CUDAEvent>();
  event->record(c10::cuda::getCurrentCUDAStream(numbers.device().index()));
  done_ = event;
}

Tensor Download::get() const {
  if (done_) static_cast<at::cuda::CUDAEvent*>(done_.get())->synchronize();
  return copy_;
}

std::shared_ptr<uint8_t[]> page_locked(size_t bytes) {
  const Tensor memory = torch::empty(
      {static_cast<int64_t>(bytes)},
      torch::TensorOptions().dtype(torch::kByte).pinned_memory(true));
  return {memory.data_ptr<uint8_t>(), [memory](uint8_t*) {}};
}

bool lock_pages(void* begin, size_t bytes) {
  // By the context of a GPU that is in use, and not by a new one's.
  c10::cuda::OptionalCUDAGuard guard;
  const auto in_use = c10::cuda::getDeviceIndexWithPrimaryContext();
  if (in_use) guard.set_index(*in_use);
  if (cudaHostRegister(begin, bytes, cudaHostRegisterPortable) == cudaSuccess) {
    return true;
  }
  (void)cudaGetLastError();  // and no error of whoever asks next
  return false;
}

}  // namespace kith
