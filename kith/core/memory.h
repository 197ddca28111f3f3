#pragma once

#include <cstdint>
#include <optional>

namespace kith {

/// Memory of this process and machine in bytes, from Linux's /proc; nothing
/// where the system does not tell.

/// What the process holds in memory now, and the most it held.
std::optional<int64_t> resident_bytes();
std::optional<int64_t> peak_resident_bytes();

/// What can still be taken without swapping: of the machine, or of the
/// container if its limit is nearer.
std::optional<int64_t> available_bytes();

}  // namespace kith
