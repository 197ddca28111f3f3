#include "kith/core/memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>

namespace kith {
namespace {

/// The number after `name` in a file of lines "Name:   123 kB".
std::optional<int64_t> entry_bytes(const char* file, const std::string& name) {
  std::ifstream lines(file);
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.starts_with(name)) continue;
    const size_t digits = line.find_first_of("0123456789");
    int64_t value = 0;
    if (digits == std::string::npos ||
        std::from_chars(line.data() + digits, line.data() + line.size(), value)
                .ec != std::errc()) {
      return std::nullopt;
    }
    return value << 10;
  }
  return std::nullopt;
}

/// A file that holds one number of bytes; "max" means no limit.
std::optional<int64_t> number_in(const char* file) {
  int64_t value = 0;
  if (std::ifstream(file) >> value) return value;
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> resident_bytes() {
  return entry_bytes("/proc/self/status", "VmRSS:");
}

std::optional<int64_t> peak_resident_bytes() {
  return entry_bytes("/proc/self/status", "VmHWM:");
}

std::optional<int64_t> available_bytes() {
  std::optional<int64_t> free = entry_bytes("/proc/meminfo", "MemAvailable:");
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (limit && used) {
    const int64_t left = std::max<int64_t>(*limit - *used, 0);
    free = free ? std::min(*free, left) : left;
  }
  return free;
}

}  // namespace kith
