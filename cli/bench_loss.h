#pragma once

#include <optional>
#include <string>

#include <c10/core/Device.h>

#include "cli/measure.h"
#include "kith/core/config.h"

namespace kith {

/// A loss and the batch that it is measured on.
struct LossBench {
  ConfigNode loss;  ///< A map: its name and options.
  int64_t batch = 1024;
  int64_t dim = 128;
  int64_t per_class = 4;  ///< `batch` is a multiple of it.
  bool sorted = false;    ///< Labels in order, else shuffled.
  bool float64 = false;
  int64_t seed = 0;
  double seconds = 1.0;  ///< Least time for each of the two timings.
  c10::Device device{c10::kCPU};
};

struct LossBenchResult {
  Timing time;  ///< Value and gradient.
  double value = 0.0;
  std::optional<double> extra_memory_mb;  ///< The gradient is part of it.
  ConfigNode options;                     ///< All options of the loss, as used.
  bool simix = false;
  int64_t rows = 0;       ///< Examples and, with SiMix, virtual ones.
  int64_t positives = 0;  ///< Of a row, virtual ones among them.
  /// Three products of M x M x D, the bare arithmetic of a ranking loss:
  /// similarities, and their gradient times each side.
  Timing products;
  std::string products_precision;  ///< "float32", "tf32" or "float64".
  int64_t products_rows_timed =
      0;                         ///< Below `batch`: timed in part and scaled.
  double products_gflops = 0.0;  ///< 10^9 operations a second.
};

/// Measures a loss on random unit vectors x = normalise(c + n): a random unit
/// centre c for each class and normal noise n of a length such that a positive
/// is on average 3 standard deviations (of the similarity of a random pair,
/// 1 / sqrt(D)) above the negatives. So ranks are neither perfect nor random
/// in batches of any usual size.
LossBenchResult bench_loss(const LossBench& bench);

}  // namespace kith
