#include "kith/ops/replay.h"

#include <mutex>
#include <utility>

#include <torch/torch.h>

#include "kith/core/error.h"

namespace kith {
namespace {

/// Of LibTorch's random numbers on the processor.
at::Tensor state_of_cpu_generator() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

}  // namespace

Replay::Replay(c10::Device device, const Replay* beside)
    : device_(device), beside_(beside) {}

void Replay::record(Work work) {
  if (!device_.is_cuda()) {
    work();
    work_ = std::move(work);
    return;
  }
  // LibTorch does not take the name of one again whose recordings are gone.
  memory_ = beside_ != nullptr ? beside_->memory_ : new_graph_memory();
  const at::Tensor before = state_of_cpu_generator();
  std::unique_ptr<GpuGraph> graph = record_on_gpu(device_, memory_, work);
  if (!at::equal(before, state_of_cpu_generator())) {
    throw RunError("it draws random numbers on the processor");
  }
  graph_ = std::move(graph);
  graph_->run();
}

void Replay::run() {
  KITH_ASSERT(graph_ || work_);
  if (graph_) {
    graph_->run();
  } else {
    work_();
  }
}

std::string why_not_recorded(const std::exception& error) {
  const auto* known = dynamic_cast<const c10::Error*>(&error);
  const std::string text =
      known != nullptr ? known->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

}  // namespace kith
