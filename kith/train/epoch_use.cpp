#include "kith/train/epoch_use.h"

#include <algorithm>
#include <unordered_map>

namespace kith {

EpochUse epoch_use(const std::vector<std::vector<int64_t>>& plan,
                   const SamplerInput& input) {
  std::unordered_map<int64_t, int64_t> places;  // by image
  for (const std::vector<int64_t>& batch : plan) {
    for (const int64_t image : batch) ++places[image];
  }
  EpochUse use;
  use.batches = static_cast<int64_t>(plan.size());
  use.images = static_cast<int64_t>(input.indices.size());
  use.used = static_cast<int64_t>(places.size());
  for (const auto& [image, count] : places) {
    use.repeated += count > 1 ? 1 : 0;
    use.most = std::max(use.most, count);
  }
  std::unordered_map<int64_t, bool> present;  // by label
  for (size_t i = 0; i < input.indices.size(); ++i) {
    present[input.labels[i]] |= places.count(input.indices[i]) > 0;
  }
  use.classes = static_cast<int64_t>(present.size());
  for (const auto& [label, is_present] : present) {
    use.absent += is_present ? 0 : 1;
  }
  return use;
}

std::string describe_use(const EpochUse& use) {
  if (use.used == use.images && use.repeated == 0) return "";
  std::string text = "the first epoch has " + std::to_string(use.used) +
                     " of " + std::to_string(use.images) +
                     " training images in " + std::to_string(use.batches) +
                     " batches";
  if (use.used < use.images) {
    text += "; " + std::to_string(use.images - use.used) + " are left out";
  }
  if (use.absent > 0) {
    text += ", with all images of " + std::to_string(use.absent) + " of " +
            std::to_string(use.classes) + " classes";
  }
  if (use.repeated > 0) {
    text += "; " + std::to_string(use.repeated) +
            " come more than once, up to " + std::to_string(use.most) +
            " times";
  }
  return text;
}

}  // namespace kith
