#pragma once

#include <cstdint>
#include <vector>

namespace kith {

/// Sorts numbers of [0, limit), some bits at a time: thousands of them 20 times
/// as fast as by comparing. `room` is overwritten.
void sort_numbers(std::vector<int32_t>& numbers, int64_t limit,
                  std::vector<int32_t>& room);

}  // namespace kith
