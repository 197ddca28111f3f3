#include "kith/train/parameter_groups.h"

#include <vector>

#include "kith/core/log.h"
#include "kith/core/options.h"

namespace kith {
namespace {

int64_t numbers_in(const NamedTensors& tensors) {
  int64_t count = 0;
  for (const auto& [name, tensor] : tensors) count += tensor.numel();
  return count;
}

}  // namespace

void tell_trained(const EmbeddingNet& net, const RunConfig& config) {
  std::vector<std::string> why;
  if (!config.train.freeze.empty()) {
    why.push_back("train.freeze: " + join(config.train.freeze));
  }
  if (why.empty()) return;
  const NamedTensors all = net.weights();
  NamedTensors trained = all;
  std::erase_if(
      trained, [](const auto& entry) { return !entry.second.requires_grad(); });
  log_info(std::to_string(numbers_in(trained)) + " of " +
           std::to_string(numbers_in(all)) +
           " parameters of the network train; " +
           std::to_string(all.size() - trained.size()) + " of " +
           std::to_string(all.size()) + " tensors stay as they are (" +
           join(why, "; ") + ")");
}

}  // namespace kith
