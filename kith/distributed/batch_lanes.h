#pragma once

#include <cstdint>
#include <vector>

#include "kith/distributed/communicator.h"
#include "kith/distributed/lanes.h"

namespace kith {

/// A batch of M examples whose work is divided: a rank embeds its examples, all
/// ranks have all embeddings, and each wants the gradient of its own.
struct BatchLanes {
  Communicator& ranks;
  Lanes lanes;
  /// [ranks + 1] Examples [begins[r], begins[r + 1]) of the batch are rank r's.
  std::vector<int64_t> begins;

  int64_t begin() const { return begins[static_cast<size_t>(ranks.rank())]; }
  int64_t end() const { return begins[static_cast<size_t>(ranks.rank()) + 1]; }
};

}  // namespace kith
