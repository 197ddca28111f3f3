#include "kith/train/statistics_guard.h"

#include <map>

#include <torch/torch.h>

namespace kith {

std::vector<Tensor> gathered_statistics(const torch::nn::Module& net) {
  std::vector<Tensor> all;
  const auto add = [&](const torch::nn::Module& module) {
    if (!module.is_training()) return;
    for (const Tensor& buffer : module.buffers(/*recurse=*/false)) {
      all.push_back(buffer);
    }
  };
  add(net);
  for (const auto& module : net.modules(/*include_self=*/false)) add(*module);
  return all;
}

StatisticsGuard::StatisticsGuard(const torch::nn::Module& net) {
  std::map<at::ScalarType, std::vector<Tensor>> by_type;
  for (const Tensor& buffer : gathered_statistics(net)) {
    by_type[buffer.scalar_type()].push_back(buffer);
  }
  for (auto& [type, buffers] : by_type) {
    std::vector<Tensor> flat;
    for (const Tensor& buffer : buffers) flat.push_back(buffer.flatten());
    before_.emplace_back(std::move(buffers), torch::cat(flat));
  }
}

StatisticsGuard::~StatisticsGuard() {
  const torch::NoGradGuard no_grad;
  for (auto& [buffers, values] : before_) {
    int64_t begin = 0;
    for (Tensor& buffer : buffers) {
      buffer.copy_(values.narrow(0, begin, buffer.numel()).view_as(buffer));
      begin += buffer.numel();
    }
  }
}

}  // namespace kith
