#pragma once

#include <cstdint>

#include "kith/distributed/batch_lanes.h"

namespace kith {

/// How the pictures of a batch are divided into lanes: at multiples of
/// `sub_batch`, so that the chunks are those of one lane and whole chunks
/// belong to lanes; but a chunk is never longer than an equal share of the
/// batch. Or, where chunks are not known before, into equal shares.
class BatchCut {
 public:
  /// `sub_batch` as in TrainOptions. `equal`: lanes are equal shares; so for
  /// pictures of any shape, whose chunks are known once they are loaded, and
  /// for lanes that run in step. `ranks` must outlive it.
  BatchCut(int64_t sub_batch, bool equal, const Lanes& lanes,
           Communicator& ranks);

  const Lanes& lanes() const { return lanes_; }
  Communicator& ranks() const { return ranks_; }

  /// Lane `lane` of a batch of `count`.
  struct Lane {
    int64_t begin = 0;  ///< Its pictures are [begin, end); it may have none.
    int64_t end = 0;
    int64_t first_chunk = 0;  ///< The number of its first chunk in the batch.
  };
  Lane lane(int64_t lane, int64_t count) const;

  /// How many lanes of such a batch have pictures.
  int64_t filled(int64_t count) const;

  BatchLanes of(int64_t count) const;

  /// Pictures of the longest chunk of such a batch.
  int64_t chunk(int64_t count) const;

 private:
  int64_t begin_of(int64_t lane, int64_t count) const;

  int64_t sub_batch_;
  bool equal_;
  Lanes lanes_;
  Communicator& ranks_;
};

}  // namespace kith
