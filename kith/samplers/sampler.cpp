#include "kith/samplers/sampler.h"

#include "kith/core/quote.h"

namespace kith {

std::string SamplerInput::class_name(int64_t label) const {
  const auto name = class_names.find(label);
  return name == class_names.end() ? std::to_string(label)
                                   : quote(name->second);
}

SamplerRegistry& sampler_registry() {
  static SamplerRegistry registry("sampler");
  return registry;
}

}  // namespace kith
