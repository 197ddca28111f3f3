#pragma once

// Counting on the CPU. Compiled for plain x86-64, AVX2 and AVX-512; the loops
// that matter are vectorised by the compiler.

#include <algorithm>
#include <vector>

#ifdef __AVX__
#include <immintrin.h>
#endif

#include "kith/ops/exact_dot.h"
#include "kith/ops/rank_kernels.h"

namespace kith::KITH_ROWS {

/// Items at a time: a query's similarities stay in the nearest cache.
constexpr int64_t kItems = 1024;
/// Queries whose similarities are brought together when they lie apart: the
/// floats of a cache line.
constexpr int64_t kGroup = 16;
/// Up to this many wanted items each is compared with every similarity; beyond,
/// a search among the wanted items takes fewer comparisons.
constexpr int64_t kFew = 64;

inline const float* row_of(const RowPairs& pairs, int64_t pair) {
  return pairs.y + pairs.y_row[pair] * pairs.dim;
}

#ifdef __AVX__
/// Items whose exact similarity with a query is computed together: each sum
/// waits for the one before it, but not for those of the other items.
constexpr int64_t kTogether = 4;

/// exact_dot() of x with kTogether rows: the same sums in the same order.
inline void exact_dots(const float* x, const float* const* y, int64_t dim,
                       float* to) {
  const auto four = [](const float* at) {
    return _mm256_cvtps_pd(_mm_loadu_ps(at));
  };
  __m256d low[kTogether] = {};
  __m256d high[kTogether] = {};
  int64_t i = 0;
  for (; i + 8 <= dim; i += 8) {
    const __m256d x_low = four(x + i);
    const __m256d x_high = four(x + i + 4);
    KITH_UNROLL
    for (int64_t row = 0; row < kTogether; ++row) {
      low[row] += x_low * four(y[row] + i);
      high[row] += x_high * four(y[row] + i + 4);
    }
  }
  for (int64_t row = 0; row < kTogether; ++row) {
    for (int64_t j = i; j < dim; ++j) {
      low[row][0] += static_cast<double>(x[j]) * static_cast<double>(y[row][j]);
    }
    const __m256d sum = low[row] + high[row];
    to[row] = static_cast<float>((sum[0] + sum[2]) + (sum[1] + sum[3]));
  }
}

/// The pairs from `i` on that are of the first's row of x, as many as
/// exact_dots() takes at a time; returns where they end.
inline int64_t similarities_together(const RowPairs& pairs, int64_t i,
                                     int64_t end) {
  const auto x_row = [&](int64_t pair) {
    return pairs.x_row == nullptr ? 0 : pairs.x_row[pair];
  };
  const int64_t x = x_row(i);
  while (i + kTogether <= end) {
    const float* y[kTogether];
    for (int64_t k = 0; k < kTogether; ++k) {
      if (x_row(i + k) != x) return i;
      y[k] = row_of(pairs, i + k);
    }
    exact_dots(pairs.x + x * pairs.dim, y, pairs.dim, pairs.similarity + i);
    i += kTogether;
  }
  return i;
}
#endif

inline void similarities(const RowPairs& pairs, const RowLaunch& launch) {
  for (int64_t i = launch.begin; i < launch.end; ++i) {
#ifdef __AVX__
    i = similarities_together(pairs, i, launch.end);
    if (i == launch.end) return;
#endif
    const int64_t x = pairs.x_row == nullptr ? 0 : pairs.x_row[i];
    pairs.similarity[i] =
        exact_dot(pairs.x + x * pairs.dim, row_of(pairs, i), pairs.dim);
  }
}

/// The similarities of a query with the items [first, first + size).
struct RankRun {
  int64_t query = 0;
  int64_t first = 0;
  int64_t size = 0;
  const float* similarity = nullptr;
};

/// Whether an item, at a gallery position, is nearer than wanted item w.
inline bool is_nearer(const RankBlock& block, float similarity, int64_t item,
                      int64_t w) {
  return similarity > block.threshold[w] ||
         (similarity == block.threshold[w] && item < block.wanted[w]);
}

inline float exact_similarity(const RankBlock& block, int64_t query,
                              int64_t item) {
  return exact_dot(block.queries + query * block.dim,
                   block.gallery + item * block.dim, block.dim);
}

/// Whether the query must not find the block's item.
inline bool is_excluded(const RankBlock& block, int64_t query, int64_t item) {
  return block.exclude != nullptr && block.exclude[query] == block.item0 + item;
}

/// Items whose similarity is within [low, high] of wanted item w are compared
/// exactly.
inline int64_t nearer_of_close(const RankBlock& block, const RankRun& run,
                               int64_t w, float low, float high) {
  constexpr int64_t kStep = 64;  // few of these have a close item
  int64_t nearer = 0;
  for (int64_t begin = 0; begin < run.size; begin += kStep) {
    const int64_t end = std::min(begin + kStep, run.size);
    int32_t close = 0;
    for (int64_t j = begin; j < end; ++j) {
      close += run.similarity[j] >= low && run.similarity[j] <= high;
    }
    for (int64_t j = begin; close > 0 && j < end; ++j) {
      if (!(run.similarity[j] >= low && run.similarity[j] <= high)) continue;
      const int64_t item = run.first + j;
      if (is_excluded(block, run.query, item)) continue;
      nearer += is_nearer(block, exact_similarity(block, run.query, item),
                          block.item0 + item, w);
    }
  }
  return nearer;
}

/// Each wanted item against all of the run.
inline void count_few(const RankBlock& block, const RankRun& run) {
  const float slack = block.slack[run.query];
  int64_t own = -1;  // the excluded item's place in the run
  if (block.exclude != nullptr) {
    own = block.exclude[run.query] - block.item0 - run.first;
  }
  const bool has_own = own >= 0 && own < run.size;
  const int64_t begin = block.offsets[run.query];
  int64_t nearer_than_next = 0;
  for (int64_t w = block.offsets[run.query + 1] - 1; w >= begin; --w) {
    const float low = block.threshold[w] - slack;
    const float high = block.threshold[w] + slack;
    int32_t above = 0;
    int32_t not_below = 0;
    for (int64_t j = 0; j < run.size; ++j) {
      above += run.similarity[j] > high;
      not_below += run.similarity[j] >= low;
    }
    int64_t nearer = above;
    if (has_own && run.similarity[own] > high) --nearer;
    if (not_below > above) {
      nearer += nearer_of_close(block, run, w, low, high);
    }
    block.count[w] += nearer - nearer_than_next;
    nearer_than_next = nearer;
  }
}

/// How many of `size` rising numbers are below x.
inline int64_t count_below(const float* rising, int64_t size, float x) {
  const float* base = rising;
  while (size > 1) {
    const int64_t half = size / 2;
    base += base[half - 1] < x ? half : 0;
    size -= half;
  }
  return base - rising + (size == 1 && *base < x ? 1 : 0);
}

/// Each item of the run is placed among the wanted ones.
inline void count_many(const RankBlock& block, const RankRun& run) {
  const int64_t begin = block.offsets[run.query];
  const int64_t wanted = block.offsets[run.query + 1] - begin;
  const float* threshold = block.threshold + begin;
  const float slack = block.slack[run.query];
  for (int64_t j = 0; j < run.size; ++j) {
    const float s = run.similarity[j];
    if (!(s >= threshold[0] - slack)) continue;
    const int64_t item = run.first + j;
    if (is_excluded(block, run.query, item)) continue;
    int64_t place = count_below(threshold, wanted, s - slack);
    if (place < wanted && threshold[place] <= s + slack) {
      const float exact = exact_similarity(block, run.query, item);
      place = count_below(threshold, wanted, exact);
      while (place < wanted &&
             is_nearer(block, exact, block.item0 + item, begin + place)) {
        ++place;
      }
    }
    if (place > 0) ++block.count[begin + place - 1];
  }
}

/// Similarities that lie apart, of a group of queries, put side by side.
inline void gather(const RankBlock& block, const RankRun& run, int64_t queries,
                   float* together) {
  for (int64_t j = 0; j < run.size; ++j) {
    const float* from = block.similarity + run.query * block.query_stride +
                        (run.first + j) * block.item_stride;
    for (int64_t q = 0; q < queries; ++q) {
      together[q * kItems + j] = from[q * block.query_stride];
    }
  }
}

inline void count_run(const RankBlock& block, const RankRun& run) {
  const int64_t wanted =
      block.offsets[run.query + 1] - block.offsets[run.query];
  if (wanted > kFew) {
    count_many(block, run);
  } else if (wanted > 0) {
    count_few(block, run);
  }
}

inline void count_nearer(const RankBlock& block, const RowLaunch& launch) {
  const bool apart = block.item_stride != 1;
  std::vector<float> together(apart ? static_cast<size_t>(kGroup * kItems)
                                    : size_t{0});
  for (int64_t first = launch.begin; first < launch.end; first += kGroup) {
    const int64_t queries = std::min(kGroup, launch.end - first);
    for (int64_t item = 0; item < block.items; item += kItems) {
      RankRun run{first, item, std::min(kItems, block.items - item), nullptr};
      if (apart) gather(block, run, queries, together.data());
      for (int64_t q = 0; q < queries; ++q) {
        run.query = first + q;
        run.similarity =
            apart ? together.data() + q * kItems
                  : block.similarity + run.query * block.query_stride + item;
        count_run(block, run);
      }
    }
  }
}

}  // namespace kith::KITH_ROWS
