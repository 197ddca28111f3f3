#pragma once

#include <string>

namespace kith {

// Where things are. CMake writes their values into one small file, so that all
// others compile to the same objects in every checkout.

/// The sources of kith.
std::string source_dir();

/// Published values, a folder for each part.
std::string golden_dir();

/// The program.
std::string program_path();

}  // namespace kith
