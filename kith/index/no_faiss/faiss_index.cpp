#include "kith/index/faiss_index.h"

#include "kith/core/error.h"

namespace kith {
namespace {

constexpr const char* kRemedy =
    ": this kith is built without faiss. Install libfaiss-dev and build again "
    "with -DKITH_WITH_FAISS=ON; an index of kind exact needs none";

}  // namespace

void require_faiss(const std::string& kind) {
  throw ConfigError("index " + kind + kRemedy);
}

std::unique_ptr<VectorIndex> make_faiss_ivf_pq(const IvfPqShape&) {
  throw ConfigError(std::string("index ivf_pq") + kRemedy);
}

std::unique_ptr<VectorIndex> make_faiss_hnsw(const HnswShape&) {
  throw ConfigError(std::string("index hnsw") + kRemedy);
}

std::unique_ptr<VectorIndex> read_faiss_index(const std::string& path) {
  throw DataError(path + kRemedy);
}

}  // namespace kith
