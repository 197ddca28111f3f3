#include "kith/index/faiss_index.h"
#include "kith/index/kinds.h"

namespace kith {

void HnswOptions::describe(OptionSet& set) {
  set.add("links", links, "Links a vector; twice as many at the bottom.")
      .range(2, 512);
  set.add("ef_construction", ef_construction,
          "Candidates that are kept while a vector is linked.")
      .range(1, 1 << 16);
  set.add("ef_search", ef_search,
          "Candidates that are kept in a search: more find more.")
      .range(1, 1 << 16);
}

HnswIndex::HnswIndex(Options options, const VectorIndexInput& input) {
  options = checked(std::move(options), "hnsw");
  index_ = make_faiss_hnsw(
      {input.dim, options.links, options.ef_construction, options.ef_search});
}

KITH_REGISTER(vector_index_registry(), "hnsw", HnswIndex);

}  // namespace kith
