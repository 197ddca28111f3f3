#pragma once

#include "kith/index/flat.h"

namespace kith {

/// How exact_search() finds the nearest. All ways find the same, to the bit,
/// and take rows on any device; they differ in where they are fast.
enum class SearchWay {
  kCandidates,  ///< Threads that each multiply and keep candidates: the CPU.
  kSelection,   ///< A kernel that selects: GPUs, for k up to kMostSelected.
  kTopk,        ///< LibTorch's topk: GPUs, for larger k.
};

/// exact_search() of a gallery without a shard, in this way.
Neighbours search_in_way(SearchWay way, const Rows& queries,
                         const Rows& gallery, const Tensor& excluded,
                         const SearchOptions& options);

/// Queries at a time: enough for the matrix product to run at full speed.
constexpr int64_t kProductQueries = 1024;

/// A run of queries that are searched together.
struct SearchRun {
  int64_t first = 0;
  Tensor queries;                    ///< [n, D]
  const int64_t* exclude = nullptr;  ///< [n] or null
  Tensor errors = {};                ///< [n] product_errors; not of a selection
};

/// How queries and gallery are walked through.
struct SearchBlocks {
  int64_t queries = 0;  ///< Of a run.
  int64_t read = 0;     ///< Rows of the gallery at a time, in memory or split.
  int64_t columns = 0;  ///< Of those, in a block of similarities.
};

/// Each writes what a run has found to its rows of `found`. All is on the CPU.
void search_on_cpu(const SearchRun& run, const Rows& gallery,
                   const SearchBlocks& blocks, Neighbours& found);

/// False, with nothing written, if rounding, or many equal similarities, leave
/// open who is among the k nearest.
bool search_by_topk(const SearchRun& run, const Rows& gallery,
                    const SearchBlocks& blocks, Neighbours& found);

/// For runs of queries on the gallery's device, one after the other. `blocks`
/// have a multiple of 4 columns.
class SelectionSearch {
 public:
  SelectionSearch(const Rows& gallery, const SearchBlocks& blocks);

  void search(const SearchRun& run, Neighbours& found);

 private:
  double longest_of(const Tensor& rows, int64_t first);

  Rows gallery_;
  SearchBlocks blocks_;
  Tensor similarity_;    ///< [queries, columns], used for block after block.
  double longest_ = -1;  ///< Row of a gallery in memory; below 0: not measured.
};

}  // namespace kith
