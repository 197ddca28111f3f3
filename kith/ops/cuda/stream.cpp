#include "kith/ops/stream.h"

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/torch.h>

namespace kith {
namespace {

using c10::cuda::CUDAStreamGuard;

}  // namespace

StreamPoint::StreamPoint(c10::Device device) {
  if (!device.is_cuda()) return;
  auto event = std::make_shared<at::cuda::CUDAEvent>();
  event->record(c10::cuda::getCurrentCUDAStream(device.index()));
  event_ = event;
}

void StreamPoint::wait() const {
  if (!event_) return;
  auto& event = *static_cast<at::cuda::CUDAEvent*>(event_.get());
  event.block(c10::cuda::getCurrentCUDAStream(event.device_index()));
}

void StreamPoint::reach() const {
  if (event_) static_cast<at::cuda::CUDAEvent*>(event_.get())->synchronize();
}

OwnStream::OwnStream(c10::Device device)
    : guard_(nullptr,
             [](void* guard) { delete static_cast<CUDAStreamGuard*>(guard); }) {
  if (!device.is_cuda()) return;
  guard_.reset(new CUDAStreamGuard(c10::cuda::getStreamFromPool(
      /*isHighPriority=*/true, device.index())));
}

OwnStream::~OwnStream() = default;

void use_on_this_stream(const Tensor& tensor) {
  if (!tensor.is_cuda()) return;
  tensor.record_stream(
      c10::cuda::getCurrentCUDAStream(tensor.device().index()));
}

}  // namespace kith
