#pragma once

namespace kith {

/// The variable of the environment with which run_ranks() tells its ranks the
/// file through which they find each other.
inline constexpr const char* kStoreVariable = "KITH_STORE_FILE";

}  // namespace kith
