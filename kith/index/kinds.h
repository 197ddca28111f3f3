#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>

#include "kith/core/options.h"
#include "kith/index/scalar_index.h"
#include "kith/index/vector_index.h"

namespace kith {

/// A kind of index with its options, of which indexes are made once their
/// dimension is known.
struct IndexKind {
  std::string name = {};  ///< As it is registered and stored.
  std::function<std::unique_ptr<VectorIndex>(const VectorIndexInput&)> make =
      {};
};

/// index_kind<IvfPqIndex>({.lists = 1024})
template <class Index>
IndexKind index_kind(typename Index::Options options = {}) {
  return {vector_index_registry().name_of(typeid(Index)),
          [options = std::move(options)](const VectorIndexInput& input) {
            return std::make_unique<Index>(options, input);
          }};
}

/// The kind that a map with `name` and its options describes. ConfigError for
/// an unknown name; of options when an index is made.
IndexKind index_kind(const ConfigNode& node);

/// All vectors as they are: the first read from where they are, if that is not
/// memory, the others in the memory of the device that searches.
class ExactIndex final : public VectorIndex {
 public:
  static constexpr const char* kSummary =
      "all vectors as they are; finds exactly the nearest";
  static constexpr PartFacts kFacts = {
      .formula = "s(q, x) = <q, x>",
      .cost = "4 D bytes a vector; a search reads all of them"};
  using Options = NoOptions;

  explicit ExactIndex(int64_t dim);
  ExactIndex(const Options&, const VectorIndexInput& input)
      : ExactIndex(input.dim) {}
  /// The vectors of a file; see load_vector_index.
  ExactIndex(const std::string& path, int64_t memory_mb, c10::Device device,
             const FileSums& sums);

  int64_t count() const override;
  int64_t dim() const override { return dim_; }
  bool exact() const override { return true; }
  void add(const Tensor& rows) override;
  /// Rows that are not in memory stay where they are.
  void add_rows(const Rows& rows) override;
  Neighbours search(const Tensor& queries, int64_t k) const override;
  Rows rows() const override;
  void save(const std::string& path) const override;

 private:
  /// [used, dim]
  Tensor in_memory() const;

  c10::Device device_ = at::kCPU;
  int64_t dim_ = 0;
  Rows read_;         ///< The first vectors; undefined if all are in memory.
  std::string file_;  ///< The file that holds just these, or empty.
  Tensor room_;  ///< [capacity, dim], of which the first `used_` are vectors.
  int64_t used_ = 0;
};

/// Numbers in half precision.
class Float16Index final : public ScalarIndex {
 public:
  static constexpr const char* kSummary =
      "all vectors, in half precision (scalar quantizer of faiss); finds what "
      "exact finds but for rounding";
  static constexpr PartFacts kFacts = {
      .cost = "2 D bytes a vector; a search reads all of them"};
  using Options = NoOptions;

  Float16Index(const Options&, const VectorIndexInput& input);
};

/// A byte a number: see ScalarCode. train() before the first add(); numbers of
/// later vectors beyond the range of those go to its ends.
class Int8Index final : public ScalarIndex {
 public:
  static constexpr const char* kSummary =
      "all vectors, 8 bits a number (scalar quantizer of faiss); finds nearly "
      "what exact finds";
  static constexpr PartFacts kFacts = {
      .formula = "c = floor(255 (x - low) / width) in 0 .. 255",
      .cost = "D bytes a vector; a search reads all of them"};
  using Options = NoOptions;

  Int8Index(const Options&, const VectorIndexInput& input);

  int64_t training_rows() const override;
  void train(const Tensor& rows) override;

 private:
  int64_t expected_;
};

struct IvfPqOptions {
  int64_t lists = 0;
  int64_t subvectors = 0;
  int64_t bits = 8;
  int64_t probes = 0;
  int64_t training_rows = 0;

  void describe(OptionSet& set);
};

/// Short codes of the vectors in lists. Needs faiss (ConfigError), and train()
/// before the first add().
class IvfPqIndex final : public VectorIndex {
 public:
  static constexpr const char* kSummary =
      "short codes of the vectors in lists (IVF-PQ of faiss); for sets that "
      "are too large for memory as they are";
  static constexpr PartFacts kFacts = {
      .source =
          "Jegou, Douze and Schmid, Product quantization for nearest "
          "neighbor search, TPAMI 2011",
      .cost =
          "subvectors bits / 8 + 8 bytes a vector; a search reads "
          "probes / lists of them"};
  using Options = IvfPqOptions;

  IvfPqIndex(Options options, const VectorIndexInput& input);

  int64_t count() const override { return index_ ? index_->count() : 0; }
  int64_t dim() const override { return input_.dim; }
  int64_t training_rows() const override;
  void train(const Tensor& rows) override;
  void add(const Tensor& rows) override { trained().add(rows); }
  Neighbours search(const Tensor& queries, int64_t k) const override {
    return trained().search(queries, k);
  }
  void save(const std::string& path) const override { trained().save(path); }

 private:
  void check_enough(int64_t rows) const;
  int64_t lists(int64_t n) const;
  VectorIndex& trained() const;

  IvfPqOptions options_;
  VectorIndexInput input_;
  std::unique_ptr<VectorIndex> index_;
};

struct HnswOptions {
  int64_t links = 32;
  int64_t ef_construction = 200;
  int64_t ef_search = 128;

  void describe(OptionSet& set);
};

/// A graph of near vectors. Needs faiss (ConfigError).
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

  HnswIndex(Options options, const VectorIndexInput& input);

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

}  // namespace kith
