#pragma once

#include <cstdint>

#include <c10/core/Device.h>

#include "kith/losses/loss.h"

namespace kith {

/// The batch that a part is measured on.
struct BenchBatch {
  int64_t batch = 1024;
  int64_t dim = 128;
  int64_t per_class = 4;  ///< `batch` is a multiple of it.
  bool sorted = false;    ///< Labels in order, else shuffled.
  /// Of an example with another of its class, on average; 0: three standard
  /// deviations of that of a random pair, 1 / sqrt(dim), and at most a half.
  double similarity = 0;
  bool float64 = false;
  int64_t seed = 0;
  c10::Device device{c10::kCPU};
};

/// Random unit vectors x = normalise(c + n) with labels from 0: a random unit
/// centre c for each class and normal noise n of a length such that positives
/// are as similar as is asked for. With three standard deviations ranks are
/// neither perfect nor random in batches of any usual size.
///
/// Drawn on the CPU in float32 whatever is asked for, so that a seed means the
/// same batch on every device and in both precisions.
LossInput random_batch(const BenchBatch& bench);

}  // namespace kith
