#pragma once

#include <optional>
#include <string>

#include "cli/bench_batch.h"
#include "cli/measure.h"
#include "kith/core/config.h"

namespace kith {

/// A loss and the batch that it is measured on.
struct LossBench : BenchBatch {
  ConfigNode loss;       ///< A map: its name and options.
  double seconds = 1.0;  ///< Least time for each of the two timings.
};

struct LossBenchResult {
  Timing time;  ///< Value and gradient.
  double value = 0.0;
  std::optional<double> extra_memory_mb;  ///< The gradient is part of it.
  ConfigNode options;                     ///< All options of the loss, as used.
  bool simix = false;
  int64_t rows = 0;       ///< Examples and, with SiMix, virtual ones.
  int64_t positives = 0;  ///< Of a row, virtual ones among them.
  /// Of a loss on tuples: mined beforehand, by this miner.
  std::optional<int64_t> tuples;
  std::string miner;
  /// Three products of M x M x D, the bare arithmetic of a ranking loss:
  /// similarities, and their gradient times each side.
  Timing products;
  std::string products_precision;  ///< "float32", "tf32" or "float64".
  int64_t products_rows_timed =
      0;                         ///< Below `batch`: timed in part and scaled.
  double products_gflops = 0.0;  ///< 10^9 operations a second.
};

/// Measures a loss on a random batch. A loss on tuples gets those of the miner
/// that it has unless a configuration names one, or of `random`.
LossBenchResult bench_loss(const LossBench& bench);

}  // namespace kith
