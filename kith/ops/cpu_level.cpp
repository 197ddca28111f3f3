#include "kith/ops/cpu_level.h"

#include <atomic>
#include <cstdlib>

#include "kith/core/error.h"
#include "kith/core/options.h"

namespace kith {
namespace {

bool supports(CpuLevel level) {
#if defined(__x86_64__)
  switch (level) {
    case CpuLevel::kPlain:
      return true;
    case CpuLevel::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case CpuLevel::kAvx512:
      return __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
  }
#endif
  return level == CpuLevel::kPlain;
}

CpuLevel first_choice() {
  const std::vector<CpuLevel> levels = cpu_levels();
  const char* wanted = std::getenv("KITH_CPU");
  if (wanted == nullptr || *wanted == '\0') return levels.back();
  std::vector<std::string> names;
  for (CpuLevel level : levels) {
    if (name_of(level) == wanted) return level;
    names.push_back(name_of(level));
  }
  throw ConfigError("KITH_CPU is '" + std::string(wanted) +
                    "'; this machine can run " + join(names));
}

std::atomic<CpuLevel>& level_in_use() {
  static std::atomic<CpuLevel> level = first_choice();
  return level;
}

}  // namespace

std::string name_of(CpuLevel level) {
  switch (level) {
    case CpuLevel::kPlain:
      return "plain";
    case CpuLevel::kAvx2:
      return "avx2";
    case CpuLevel::kAvx512:
      return "avx512";
  }
  return "";
}

std::vector<CpuLevel> cpu_levels() {
  std::vector<CpuLevel> levels;
  for (CpuLevel level :
       {CpuLevel::kPlain, CpuLevel::kAvx2, CpuLevel::kAvx512}) {
    if (supports(level)) levels.push_back(level);
  }
  return levels;
}

CpuLevel cpu_level() { return level_in_use(); }

void set_cpu_level(CpuLevel level) {
  KITH_ASSERT(supports(level));
  level_in_use() = level;
}

}  // namespace kith
