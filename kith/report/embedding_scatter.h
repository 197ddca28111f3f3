#pragma once

#include <cstdint>
#include <vector>

#include "kith/eval/embedded_split.h"
#include "kith/report/insight.h"

namespace kith {

/// How many images a task has: queries and gallery items, each once.
int64_t count_scatter_items(const EvalTask& task);

/// Positions in the data set's list of `most` of a task's queries and gallery
/// items, or of all, drawn with the seed; rising.
std::vector<int64_t> draw_scatter_items(const EvalTask& task, int64_t most,
                                        uint64_t seed);

/// The items in the plane of the first two principal directions of all queries
/// and gallery items of the task: x and y are (e - mean) . v with the unit
/// eigenvectors v of the covariance matrix, which point to where their largest
/// component is positive. One direction, or none, if there are no more; their
/// coordinates are 0 then. Classes are numbered by rising label; where lists
/// say what is right, all are 0. `memory_mb` is for blocks of rows.
EmbeddingScatter embedding_scatter(const EmbeddedSplit& split,
                                   const EvalTask& task,
                                   const std::vector<int64_t>& items,
                                   int64_t memory_mb);

/// Adds the map of the items' neighbours (kith/report/tsne.h), which begins at
/// their places in the plane: maps of scatters that were turned like another
/// begin alike. O(n^2) time and memory.
void add_map(const EmbeddedSplit& split, const std::vector<int64_t>& items,
             EmbeddingScatter& scatter);

/// Turns the axes round, each by itself, that go against those of another
/// scatter of the same items.
void turn_like(const EmbeddingScatter& other, EmbeddingScatter& scatter);

}  // namespace kith
