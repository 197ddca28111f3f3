#include "kith/models/pretrained_input.h"

#include <map>
#include <utility>

#include "kith/models/backbone.h"

namespace kith {
namespace {

std::map<std::string, PretrainedInput>& inputs() {
  static std::map<std::string, PretrainedInput> all;
  return all;
}

}  // namespace

bool add_pretrained_input(const std::string& backbone, PretrainedInput input) {
  return inputs().emplace(backbone, std::move(input)).second;
}

PretrainedInput pretrained_input(const ConfigNode& backbone) {
  const ConfigNode* name = backbone.find("name");
  const auto found =
      name == nullptr
          ? inputs().end()
          : inputs().find(backbone_registry().own_name(name->scalar));
  return found == inputs().end() ? PretrainedInput() : found->second;
}

}  // namespace kith
