#include "kith/data/augment.h"

namespace kith {

AugmentationRegistry& augmentation_registry() {
  static AugmentationRegistry registry("augmentation");
  return registry;
}

Augmentations make_augmentations(const ConfigNode& section) {
  Augmentations steps;
  for (size_t i = 0; i < section.items.size(); ++i) {
    steps.push_back(augmentation_registry().make(
        section.items[i], "augment." + std::to_string(i)));
  }
  return steps;
}

}  // namespace kith
