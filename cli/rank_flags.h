#pragma once

#include <cstdint>
#include <string>

#include <c10/core/Device.h>

#include "cli/common.h"
#include "kith/distributed/communicator.h"

namespace kith {

/// --ranks, --engine and --timeout of a command that several processes can do
/// together. Such a command calls start() once its flags and configuration are
/// read, so that their faults are said once; then device() and join().
struct RankFlags {
  int64_t ranks = 0;  ///< 0: as many as torchrun, mpirun or srun started.
  std::string engine = "auto";
  int64_t timeout = 0;  ///< Seconds; 0: KITH_TIMEOUT, or 30 minutes.

  void add_to(CLI::App& command);

  /// With --ranks N in a process that nobody started as a rank: runs the
  /// program as N ranks and throws ProgramEnd. Else this process is the rank
  /// that the environment says (see this_rank.h).
  void start() const;

  /// As DeviceFlags::apply(), for one of several ranks on a machine: "auto" and
  /// "cuda" are the GPU of its number there, and without --threads it has its
  /// share of the cores.
  c10::Device device(const DeviceFlags& flags) const;

  /// Finds the others. They stay joined until the program ends.
  Communicator& join(c10::Device device) const;
};

/// The words that the program was started with, for start().
void remember_arguments(int argc, char** argv);

}  // namespace kith
