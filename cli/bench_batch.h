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
  bool float64 = false;
  int64_t seed = 0;
  c10::Device device{c10::kCPU};
};

/// Random unit vectors x = normalise(c + n) with labels from 0: a random unit
/// centre c for each class and normal noise n of a length such that a positive
/// is on average 3 standard deviations (of the similarity of a random pair,
/// 1 / sqrt(D)) above the negatives. So ranks are neither perfect nor random
/// in batches of any usual size.
///
/// Drawn on the CPU in float32 whatever is asked for, so that a seed means the
/// same batch on every device and in both precisions.
LossInput random_batch(const BenchBatch& bench);

}  // namespace kith
