#pragma once

#include <cstdint>

namespace kith {

/// While one lives, large blocks of memory that tensors on the CPU give back
/// are kept for the tensors that come next. A step of a training wants the
/// same blocks as the step before, and without this each of them comes from
/// the system anew, which hands out pages one by one and fills them with zeros:
/// that takes longer than many a layer.
///
/// The process takes at most half as much again for them as was ever in use at
/// once: what a training needs at different moments of a step fits in that. Up
/// to there each size keeps blocks of its own; then larger ones are divided.
/// When the last one dies all goes back. Any thread's tensors take part, and
/// may outlive it.
class KeptMemory {
 public:
  KeptMemory();
  ~KeptMemory();
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
};

/// What is kept now, in bytes: the process holds it, and tensors may have it.
int64_t kept_bytes();

}  // namespace kith
