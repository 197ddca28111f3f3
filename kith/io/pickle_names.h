#pragma once

#include <optional>
#include <string_view>

namespace kith::detail {

/// What a call of a known name in a pickle makes.
enum class PickleRole {
  kDict,   ///< A dict, from nothing, a dict or pairs.
  kSet,    ///< A set, from nothing or a list.
  kBytes,  ///< Bytes, from bytes or from a str in Latin-1.
  kData,   ///< An inert object that remembers its name and arguments.
};

/// Nothing for a name that is not known to be plain data.
std::optional<PickleRole> pickle_role(std::string_view module,
                                      std::string_view name);

}  // namespace kith::detail
