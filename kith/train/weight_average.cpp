#include "kith/train/weight_average.h"

#include <algorithm>

#include <torch/torch.h>

namespace kith {

WeightAverage::WeightAverage(EmbeddingNet& net, double decay, bool warms_up)
    : net_(net), decay_(decay), warms_up_(warms_up) {
  for (const auto& [name, tensor] : net_.state()) {
    const Tensor live = tensor.detach();  // the same memory
    state_.emplace_back(name, live.clone());
    const bool is_mean = live.is_floating_point();
    (is_mean ? live_ : counters_).push_back(live);
    (is_mean ? mean_ : last_count_).push_back(state_.back().second);
  }
}

void WeightAverage::start() {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < live_.size(); ++i) mean_[i].copy_(live_[i]);
  for (size_t i = 0; i < counters_.size(); ++i) {
    last_count_[i].copy_(counters_[i]);
  }
}

void WeightAverage::update(int64_t step) {
  const torch::NoGradGuard no_grad;
  const auto t = static_cast<double>(step);
  const double decay =
      warms_up_ ? std::min(decay_, (1 + t) / (10 + t)) : decay_;
  at::_foreach_add_(mean_, at::_foreach_sub(live_, mean_), 1 - decay);
  for (size_t i = 0; i < counters_.size(); ++i) {
    last_count_[i].copy_(counters_[i]);
  }
}

void WeightAverage::put_into_net() const {
  const torch::NoGradGuard no_grad;
  const NamedTensors net = net_.state();
  for (size_t i = 0; i < net.size(); ++i) {
    Tensor(net[i].second).copy_(state_[i].second);
  }
}

}  // namespace kith
