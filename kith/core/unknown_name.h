#pragma once

#include <string>
#include <utility>

#include "kith/core/error.h"

namespace kith {

/// A name that is not known, as throw_unknown() says it.
class UnknownName : public ConfigError {
 public:
  UnknownName(const std::string& message, std::string kind, std::string name)
      : ConfigError(message), kind_(std::move(kind)), name_(std::move(name)) {}

  /// What it should have named: "loss".
  const std::string& kind() const { return kind_; }
  const std::string& name() const { return name_; }

 private:
  std::string kind_;
  std::string name_;
};

}  // namespace kith
