#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kith {

/// The exit status of a rank of run_ranks() that ends because of another one,
/// which says more.
inline constexpr int kFollowerStatus = 75;

/// How ranks ended.
struct RanksEnd {
  int status = 0;       ///< Of the one that failed first; 128 + its signal.
  std::string message;  ///< What that rank could not say itself; else "".
};

/// Runs argv (argv[0]: the path of a program) as `ranks` processes on this
/// machine, which join_ranks() brings together, and returns when all have
/// ended. Their output goes where that of this process goes; input has rank 0,
/// unless it is a terminal. SIGINT, SIGTERM and SIGHUP are passed on to all.
/// When one fails the others are stopped within two seconds. They end with this
/// process if they call end_with_parent().
///
/// Where OMP_NUM_THREADS is not set the ranks share the cores.
///
/// With the engine "mpi", or if only that can serve as many ranks here, the
/// process becomes mpirun. ConfigError if there is no such engine, RunError if
/// a program cannot be started.
RanksEnd run_ranks(int64_t ranks, const std::vector<std::string>& argv,
                   const std::string& engine = "auto");

/// The file of the program that runs.
std::string program_file();

}  // namespace kith
