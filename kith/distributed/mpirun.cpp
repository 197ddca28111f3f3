#include "kith/distributed/mpirun.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "kith/core/error.h"
#include "kith/core/with_parent.h"
#include "kith/distributed/rank_threads.h"

namespace kith {

void become_mpirun(int64_t ranks, const std::vector<std::string>& argv) {
  std::vector<std::string> words = {
      "mpirun",          "-n",        std::to_string(ranks),
      "--oversubscribe", "--bind-to", "none"};
  if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
  words.insert(words.end(), argv.begin(), argv.end());
  RankPlace place;
  place.local_size = ranks;
  const std::string threads = std::to_string(threads_of_rank(place));
  ::setenv("OMP_NUM_THREADS", threads.c_str(), 1);
  ::execvp("mpirun", pointers_to(words).data());
  throw RunError(std::string("cannot start mpirun: ") + std::strerror(errno));
}

}  // namespace kith
