#pragma once

#include "kith/index/rows.h"

namespace kith {

/// The part of a gallery whose items this process compares, and with whom it
/// shares the rest.
struct GalleryPart {
  Rows items;
  int64_t first = 0;
  Communicator* ranks = nullptr;  ///< Null: these are all.

  explicit GalleryPart(const Rows& gallery);
  int64_t last() const { return first + items.count(); }
};

/// Some queries in memory, and where their pairs are among all.
struct PairRun {
  Tensor queries;                    ///< [n, D]
  const int64_t* offsets = nullptr;  ///< [n + 1]

  int64_t first() const { return offsets[0]; }
  int64_t count() const { return offsets[queries.size(0)] - offsets[0]; }
};

/// Writes the exact similarity of each pair of a run to to[run.count()];
/// `items` are those of its pairs. Whoever has an item computes its own, and a
/// gallery that is not in memory is read `block_rows` at a time.
void write_similarities(const PairRun& run, const GalleryPart& part,
                        const int64_t* items, int64_t block_rows, float* to);

}  // namespace kith
