#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kith/index/vector_index.h"

namespace kith {

// What kith has of faiss: implemented in faiss/, and without faiss in no_faiss/
// by errors that say how to get it.

/// ConfigError unless kith is built with faiss; `kind` is the index that needs
/// it.
void require_faiss(const std::string& kind);

struct IvfPqShape {
  int64_t dim = 0;
  int64_t lists = 0;
  int64_t subvectors = 0;  ///< Divides dim.
  int64_t bits = 8;
  int64_t probes = 1;
  uint64_t seed = 0;
};

/// An empty IndexIVFPQ; train() comes before add().
std::unique_ptr<VectorIndex> make_faiss_ivf_pq(const IvfPqShape& shape);

struct HnswShape {
  int64_t dim = 0;
  int64_t links = 0;
  int64_t ef_construction = 0;
  int64_t ef_search = 0;
};

/// An empty IndexHNSWFlat.
std::unique_ptr<VectorIndex> make_faiss_hnsw(const HnswShape& shape);

/// Either, from a file. DataError if it is damaged.
std::unique_ptr<VectorIndex> read_faiss_index(const std::string& path);

}  // namespace kith
