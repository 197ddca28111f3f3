#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kith {

/// The names of `count` GPUs that this process sees, as CUDA_VISIBLE_DEVICES
/// has them: those of the list that is set already, or their numbers.
std::vector<std::string> visible_gpus(const std::optional<std::string>& list,
                                      int64_t count);

/// The GPUs of each of `jobs` trainings side by side, `each` of them, as lists
/// for CUDA_VISIBLE_DEVICES. They are taken in turns, so that as few trainings
/// as possible share one. Empty if there is nothing to share out: every
/// training would have all.
std::vector<std::string> gpu_slots(const std::vector<std::string>& gpus,
                                   int64_t jobs, int64_t each);

}  // namespace kith
