#include "kith/index/faiss_index.h"

namespace kith {
namespace {

struct HnswOptions {
  int64_t links = 32;
  int64_t ef_construction = 200;
  int64_t ef_search = 128;

  void describe(OptionSet& set) {
    set.add("links", links, "Links a vector; twice as many at the bottom.")
        .range(2, 512);
    set.add("ef_construction", ef_construction,
            "Candidates that are kept while a vector is linked.")
        .range(1, 1 << 16);
    set.add("ef_search", ef_search,
            "Candidates that are kept in a search: more find more.")
        .range(1, 1 << 16);
  }
};

class HnswIndex final : public VectorIndex {
 public:
  static constexpr const char* kSummary =
      "a graph of near vectors in layers (HNSW of faiss); fast, all in memory";
  static constexpr PartFacts kFacts = {
      .source =
          "Malkov and Yashunin, Efficient and robust approximate nearest "
          "neighbor search using hierarchical navigable small world "
          "graphs, TPAMI 2020",
      .cost =
          "4 D + 8 links bytes a vector; linking is on one thread, so that "
          "the graph is always the same"};
  using Options = HnswOptions;

  HnswIndex(const Options& options, const VectorIndexInput& input) {
    index_ = make_faiss_hnsw(
        {input.dim, options.links, options.ef_construction, options.ef_search});
  }

  int64_t count() const override { return index_->count(); }
  int64_t dim() const override { return index_->dim(); }
  void add(const Tensor& rows) override { index_->add(rows); }
  Neighbours search(const Tensor& queries, int64_t k) const override {
    return index_->search(queries, k);
  }
  Rows rows() const override { return index_->rows(); }
  void save(const std::string& path) const override { index_->save(path); }

 private:
  std::unique_ptr<VectorIndex> index_;
};

}  // namespace

KITH_REGISTER(vector_index_registry(), "hnsw", HnswIndex);

}  // namespace kith
