#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kith {

/// This process becomes mpirun with argv as `ranks` ranks on this machine.
/// RunError if there is none.
[[noreturn]] void become_mpirun(int64_t ranks,
                                const std::vector<std::string>& argv);

}  // namespace kith
