#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace kith {

/// Who started this process as a rank.
enum class Launcher {
  kNone,         ///< Nobody: it is alone.
  kEnvironment,  ///< torchrun, run_ranks(), or RANK and WORLD_SIZE by hand.
  kMpi,          ///< mpirun of Open MPI.
  kSlurm,        ///< srun.
};

/// Which rank this process is, of how many, and where they meet.
struct RankPlace {
  Launcher launcher = Launcher::kNone;
  int64_t rank = 0;
  int64_t size = 1;
  int64_t local_rank = 0;  ///< Among those on this machine.
  int64_t local_size = 1;

  /// Where the store is through which ranks find each other; "": not said.
  std::string address;
  int64_t port = 0;
  /// Whoever started the ranks keeps the store; else rank 0 does.
  bool store_is_kept = false;
  /// Of ranks on one machine: the store is this file instead.
  std::string store_file;
  /// Begins the names of what this start of the ranks has in the store.
  std::string store_prefix = "kith";
};

/// The value of a variable of the environment; none: it is not set.
using Variables =
    std::function<std::optional<std::string>(const std::string& name)>;

/// What the environment says: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
/// MASTER_ADDR and MASTER_PORT (torchrun, also with its own store), else Open
/// MPI's variables, else those of a step of SLURM, else one rank. Without
/// LOCAL_RANK all ranks are taken to be on one machine. ConfigError, which
/// names the variable, if values do not fit together.
RankPlace find_ranks(const Variables& variable);
RankPlace find_ranks();

}  // namespace kith
