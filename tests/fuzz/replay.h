#pragma once

#include <cstdint>
#include <string>

#include "tests/fuzz/harness.h"

namespace kith {

/// Reads the harness's seeds, every file of the folder `findings` (which may be
/// missing), and `count` changed copies of these: the same ones each time.
/// Returns the number of faults, which are printed; what led to one that was
/// made here is written to the working folder.
int replay(const Harness& harness, const std::string& findings, int64_t count);

}  // namespace kith
