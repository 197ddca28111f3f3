#pragma once

#include <optional>

#include "cli/bench_batch.h"
#include "cli/measure.h"
#include "kith/core/config.h"

namespace kith {

/// A miner and the batch that it is measured on.
struct MinerBench : BenchBatch {
  ConfigNode miner;      ///< A map: its name and options.
  double seconds = 1.0;  ///< Least time for the timing.
};

struct MinerBenchResult {
  Timing time;  ///< A call, with what waits for the device in it.
  std::optional<double> extra_memory_mb;  ///< The tuples are part of it.
  ConfigNode options;  ///< All options of the miner, as used.
  int64_t tuples = 0;
  int64_t width = 0;  ///< Of a tuple.
};

/// Measures mining in a random batch. Every call draws the same tuples.
MinerBenchResult bench_miner(const MinerBench& bench);

/// The tuples that the miner of a registry's name chooses in a batch.
Tensor mine_once(const ConfigNode& miner, const LossInput& input);

}  // namespace kith
