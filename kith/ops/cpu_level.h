#pragma once

#include <string>
#include <vector>

namespace kith {

/// The instructions that the CPU kernels are compiled for, each a superset of
/// the one before: any x86-64 (or other) processor; AVX2 and FMA; AVX-512 F,
/// BW, DQ and VL.
enum class CpuLevel { kPlain, kAvx2, kAvx512 };

/// "plain", "avx2", "avx512".
std::string name_of(CpuLevel level);

/// The levels that this machine can run, the best last.
std::vector<CpuLevel> cpu_levels();

/// The level in use: the best, unless the environment variable KITH_CPU or
/// set_cpu_level() says otherwise. ConfigError if KITH_CPU names no level of
/// this machine.
CpuLevel cpu_level();
void set_cpu_level(CpuLevel level);

}  // namespace kith
