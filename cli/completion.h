#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace kith {

/// The shells that completion_script() knows.
const std::vector<std::string>& completion_shells();

/// A script that makes a shell complete the commands, options and fixed values
/// of `app`: all that its description has.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace kith
