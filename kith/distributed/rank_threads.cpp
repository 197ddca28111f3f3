#include "kith/distributed/rank_threads.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <unistd.h>

namespace kith {

int64_t threads_of_rank(const RankPlace& place) {
  const char* said = std::getenv("OMP_NUM_THREADS");
  const int64_t threads = said == nullptr ? 0 : std::atoll(said);
  if (threads > 0) return threads;
  const int64_t cores = std::thread::hardware_concurrency();
  const bool by_scheduler =
      place.launcher == Launcher::kMpi || place.launcher == Launcher::kSlurm;
  const bool is_bound = cores < ::sysconf(_SC_NPROCESSORS_ONLN);
  if (by_scheduler && is_bound) return std::max<int64_t>(1, cores);
  return std::max<int64_t>(1, cores / place.local_size);
}

}  // namespace kith
