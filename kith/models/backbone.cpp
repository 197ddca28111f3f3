#include "kith/models/backbone.h"

#include <regex>

namespace kith {

std::string Backbone::layer_of(const std::string& parameter) const {
  return numbered_layer(parameter);
}

std::string numbered_layer(const std::string& parameter) {
  static const std::regex numbered(
      R"(^((?:[^.]*\.)*?(?:\d+|[^.]*_\d+)(?:\.blocks\.\d+)?)\..*)");
  std::smatch found;
  return std::regex_match(parameter, found, numbered) ? found[1].str() : "";
}

BackboneRegistry& backbone_registry() {
  static BackboneRegistry registry("backbone");
  return registry;
}

}  // namespace kith
