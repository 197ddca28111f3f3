#pragma once

#include <gtest/gtest.h>

#include "kith/ops/cpu_level.h"

namespace kith {

/// Puts back the level in use at the end of a scope.
class RestoreCpuLevel {
 public:
  RestoreCpuLevel() : before_(cpu_level()) {}
  ~RestoreCpuLevel() { set_cpu_level(before_); }
  RestoreCpuLevel(const RestoreCpuLevel&) = delete;
  RestoreCpuLevel& operator=(const RestoreCpuLevel&) = delete;

 private:
  CpuLevel before_;
};

/// Runs `action` on each level that this machine has.
template <class Action>
void for_each_cpu_level(const Action& action) {
  const RestoreCpuLevel restore;
  for (const CpuLevel level : cpu_levels()) {
    SCOPED_TRACE(name_of(level));
    set_cpu_level(level);
    action();
  }
}

}  // namespace kith
