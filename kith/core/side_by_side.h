#pragma once

#include <cstdint>
#include <functional>

namespace kith {

/// Calls work(0), ..., work(count - 1), in any order, as many at a time as
/// LibTorch has threads. Operations of LibTorch within `work` have one thread
/// each: on small matrices more would only wait for each other. Rethrows the
/// first error when all threads have ended.
void run_side_by_side(int64_t count, const std::function<void(int64_t)>& work);

}  // namespace kith
