#include "kith/models/backbone.h"

namespace kith {

BackboneRegistry& backbone_registry() {
  static BackboneRegistry registry("backbone");
  return registry;
}

}  // namespace kith
