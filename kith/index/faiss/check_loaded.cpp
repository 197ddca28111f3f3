#include "kith/index/faiss/check_loaded.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <faiss/IndexFlat.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexIVFPQ.h>

#include "kith/core/error.h"

namespace kith {
namespace {

/// Most candidates that a file may ask to keep.
constexpr int kMaxCandidates = 1 << 20;
constexpr const char* kNotFinite = "it has a NaN or infinite value";

void expect(bool is_right, const std::string& path, const char* otherwise) {
  if (is_right) return;
  throw DataError(path + ": damaged index of faiss: " + otherwise);
}

/// Most links that a vector may have at all levels.
constexpr int kMaxLinks = 1 << 16;

bool are_finite(const float* numbers, size_t count) {
  return std::all_of(numbers, numbers + count,
                     [](float number) { return std::isfinite(number); });
}

/// The vectors that an index of this kind holds as they are.
bool are_finite(const faiss::Index* index) {
  const auto* flat = dynamic_cast<const faiss::IndexFlat*>(index);
  return flat != nullptr &&
         are_finite(flat->get_xb(), static_cast<size_t>(flat->ntotal) *
                                        static_cast<size_t>(flat->d));
}

/// Links a vector by level, summed: 0, then never less.
bool are_sums(const std::vector<int>& sums) {
  if (sums.empty() || sums[0] != 0 || sums.back() > kMaxLinks) return false;
  for (size_t i = 1; i < sums.size(); ++i) {
    if (sums[i] < sums[i - 1]) return false;
  }
  return true;
}

/// The links of vector `i` at every level are none (-1), or vectors that have
/// this level too.
bool links_are_right(const faiss::HNSW& hnsw, size_t i) {
  for (int level = 0; level < hnsw.levels[i]; ++level) {
    const auto at = static_cast<size_t>(level);
    const auto begin = static_cast<size_t>(hnsw.cum_nneighbor_per_level[at]);
    const auto end = static_cast<size_t>(hnsw.cum_nneighbor_per_level[at + 1]);
    for (size_t j = begin; j < end; ++j) {
      const int link = hnsw.neighbors[hnsw.offsets[i] + j];
      if (link == -1) continue;
      if (link < 0 || static_cast<size_t>(link) >= hnsw.levels.size() ||
          hnsw.levels[static_cast<size_t>(link)] <= level) {
        return false;
      }
    }
  }
  return true;
}

bool levels_are_right(const faiss::HNSW& hnsw) {
  const std::vector<int>& sums = hnsw.cum_nneighbor_per_level;
  if (hnsw.offsets[0] != 0) return false;
  for (size_t i = 0; i < hnsw.levels.size(); ++i) {
    const int level = hnsw.levels[i];
    if (level < 1 || static_cast<size_t>(level) >= sums.size()) return false;
    const auto links = static_cast<size_t>(sums[static_cast<size_t>(level)]);
    if (hnsw.offsets[i + 1] != hnsw.offsets[i] + links) return false;
  }
  return hnsw.offsets.back() == hnsw.neighbors.size();
}

bool entry_is_right(const faiss::HNSW& hnsw) {
  if (hnsw.levels.empty()) return hnsw.entry_point == -1;
  return hnsw.entry_point >= 0 &&
         static_cast<size_t>(hnsw.entry_point) < hnsw.levels.size() &&
         hnsw.max_level >= 0 &&
         hnsw.max_level < hnsw.levels[static_cast<size_t>(hnsw.entry_point)];
}

}  // namespace

void check_loaded(const faiss::IndexHNSWFlat& index, const std::string& path) {
  const faiss::HNSW& hnsw = index.hnsw;
  expect(
      are_sums(hnsw.cum_nneighbor_per_level) &&
          hnsw.assign_probas.size() + 1 == hnsw.cum_nneighbor_per_level.size(),
      path, "its levels make no sense");
  expect(hnsw.efConstruction > 0 && hnsw.efConstruction <= kMaxCandidates &&
             hnsw.efSearch > 0 && hnsw.efSearch <= kMaxCandidates &&
             hnsw.upper_beam == 1,
         path, "its settings make no sense");
  expect(levels_are_right(hnsw) && entry_is_right(hnsw), path,
         "its levels make no sense");
  for (size_t i = 0; i < hnsw.levels.size(); ++i) {
    expect(links_are_right(hnsw, i), path, "a link leads nowhere");
  }
  expect(are_finite(index.storage), path, kNotFinite);
}

void check_loaded(const faiss::IndexIVFPQ& index, const std::string& path) {
  const faiss::InvertedLists& lists = *index.invlists;
  for (size_t list = 0; list < index.nlist; ++list) {
    const faiss::InvertedLists::ScopedIds ids(&lists, list);
    for (size_t i = 0; i < lists.list_size(list); ++i) {
      expect(ids[i] >= 0 && ids[i] < index.ntotal, path,
             "a position is outside of it");
    }
  }
  expect(are_finite(index.quantizer) &&
             are_finite(index.pq.centroids.data(), index.pq.centroids.size()),
         path, kNotFinite);
}

}  // namespace kith
