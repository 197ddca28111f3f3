#include "kith/samplers/sampler.h"

namespace kith {

SamplerRegistry& sampler_registry() {
  static SamplerRegistry registry("sampler");
  return registry;
}

}  // namespace kith
