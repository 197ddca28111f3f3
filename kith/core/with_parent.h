#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kith {

/// The variable of the environment in which a child finds its parent's id, so
/// that it ends with it (end_with_parent).
inline constexpr const char* kParentVariable = "KITH_PARENT";

/// Makes this process end when the one that started it with such a variable
/// ends, however that ends; does nothing in a process that was started
/// otherwise.
void end_with_parent();

/// The environment of this process for a child that shall end with it, with
/// `changes` (name, value) made.
std::vector<std::string> child_environment(
    const std::vector<std::pair<std::string, std::string>>& changes = {});

/// For exec: pointers to the words, and the null that ends them.
std::vector<char*> pointers_to(std::vector<std::string>& words);

}  // namespace kith
