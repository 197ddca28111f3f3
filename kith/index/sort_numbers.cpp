#include "kith/index/sort_numbers.h"

#include <algorithm>
#include <array>

namespace kith {

void sort_numbers(std::vector<int32_t>& numbers, int64_t limit,
                  std::vector<int32_t>& room) {
  constexpr int kBits = 11;
  constexpr size_t kDigits = size_t{1} << kBits;
  // Of fewer, counting the digits takes longer.
  if (numbers.size() < kDigits / 8) {
    std::sort(numbers.begin(), numbers.end());
    return;
  }
  room.resize(numbers.size());
  for (int shift = 0; (limit - 1) >> shift > 0; shift += kBits) {
    const auto digit = [&](int32_t number) {
      return (static_cast<size_t>(number) >> shift) % kDigits;
    };
    std::array<size_t, kDigits + 1> next{};
    for (const int32_t number : numbers) ++next[digit(number) + 1];
    for (size_t i = 1; i <= kDigits; ++i) next[i] += next[i - 1];
    for (const int32_t number : numbers) room[next[digit(number)]++] = number;
    numbers.swap(room);
  }
}

}  // namespace kith
