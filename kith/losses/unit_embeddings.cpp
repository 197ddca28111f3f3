#include "kith/losses/unit_embeddings.h"

namespace kith {

bool takes_unit(const Loss& loss, std::optional<bool> asked) {
  return asked.value_or(loss.wants_unit());
}

std::unique_ptr<Loss> example_loss(const ConfigNode& section) {
  LossContext smallest;
  smallest.classes = 2;
  smallest.dim = 2;
  return loss_registry().make(section, "loss", smallest);
}

}  // namespace kith
