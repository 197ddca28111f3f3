#include "kith/onnx/operation.h"

#include <torch/csrc/jit/ir/ir.h>
#include <torch/torch.h>

#include "kith/core/error.h"

namespace kith {

void Operation::refuse(const std::string& why) const {
  throw ConfigError(std::string("the network's operation ") +
                    node_.kind().toQualString() +
                    " cannot be written as ONNX: " + why);
}

bool Operation::has(const char* argument) const {
  const auto place = node_.schema().argumentIndexWithName(argument);
  if (!place) return false;
  const Traced& value = arguments_.at(static_cast<size_t>(*place));
  return !value.is_constant() || !value.first.isNone();
}

const Traced& Operation::at(const char* argument) const {
  const auto place = node_.schema().argumentIndexWithName(argument);
  if (!place) refuse(std::string("it has no argument ") + argument);
  return arguments_.at(static_cast<size_t>(*place));
}

const c10::IValue& Operation::constant(const char* argument) const {
  const Traced& value = at(argument);
  if (!value.is_constant()) {
    refuse(std::string("its argument ") + argument + " is computed");
  }
  if (!value.is_same) {
    refuse(std::string("its argument ") + argument +
           " depends on the number or the size of the pictures");
  }
  return value.first;
}

int64_t Operation::integer(const char* argument) const {
  return constant(argument).toScalar().to<int64_t>();
}

double Operation::real(const char* argument) const {
  const c10::IValue& value = constant(argument);
  return value.isTensor() ? value.toTensor().item<double>()
                          : value.toScalar().to<double>();
}

bool Operation::truth(const char* argument) const {
  return constant(argument).toBool();
}

std::string Operation::text(const char* argument) const {
  return constant(argument).toStringRef();
}

std::vector<int64_t> Operation::integers(const char* argument) const {
  const c10::IValue& value = constant(argument);
  if (value.isInt()) return {value.toInt()};
  return value.toIntVector();
}

int64_t Operation::axis(const char* argument, const char* of) const {
  const int64_t place = integer(argument);
  return place < 0 ? place + static_cast<int64_t>(at(of).extents.size())
                   : place;
}

std::vector<int64_t> Operation::axes(const char* argument,
                                     const char* of) const {
  const auto rank = static_cast<int64_t>(at(of).extents.size());
  std::vector<int64_t> places =
      has(argument) ? integers(argument) : std::vector<int64_t>();
  for (int64_t& place : places) {
    if (place < 0) place += rank;
  }
  if (!places.empty()) return places;
  for (int64_t i = 0; i < rank; ++i) places.push_back(i);
  return places;
}

std::string Operation::name_of(const Traced& value, at::ScalarType type) const {
  if (!value.name.empty()) {
    return value.type == type ? value.name : builder_.cast(value.name, type);
  }
  if (!value.is_same) {
    refuse(
        "it takes numbers that depend on the number or the size of the "
        "pictures");
  }
  if (value.first.isScalar()) {
    return builder_.number(value.first.toScalar().to<double>(), type);
  }
  if (!value.first.isTensor()) refuse("it takes what is no tensor");
  const Tensor& tensor = value.first.toTensor();
  if (tensor.dim() == 0) return builder_.number(tensor.item<double>(), type);
  return builder_.constant(value.label.empty() ? "constant" : value.label,
                           tensor.to(type));
}

std::string Operation::tensor(const char* argument) const {
  const Traced& value = at(argument);
  return name_of(value, value.type);
}

std::string Operation::tensor(const char* argument, at::ScalarType type) const {
  return name_of(at(argument), type);
}

Operation::Names Operation::tensors(const char* argument) const {
  Names names;
  for (const Traced& item : at(argument).items) {
    names.push_back(name_of(item, type()));
  }
  return names;
}

std::string Operation::shape(const Extents& extents) const {
  std::vector<std::string> parts;
  std::vector<int64_t> fixed;
  const auto add_fixed = [&] {
    if (!fixed.empty()) parts.push_back(builder_.integers(fixed));
    fixed.clear();
  };
  for (const Extent& extent : extents) {
    if (extent.is_fixed()) {
      fixed.push_back(extent.first);
    } else if (extent == pictures_) {
      add_fixed();
      parts.push_back(builder_.batch());
    } else {
      refuse("it makes a tensor whose size depends on that of the pictures");
    }
  }
  add_fixed();
  return parts.size() == 1
             ? parts.front()
             : builder_.add("Concat", parts, {{"axis", int64_t{0}}});
}

}  // namespace kith
