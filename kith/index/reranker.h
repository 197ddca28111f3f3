#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "kith/core/registry.h"
#include "kith/index/ranked_pairs.h"
#include "kith/index/rows.h"

namespace kith {

/// Embeddings that are searched in, and for what.
struct RerankSet {
  Rows queries;  ///< [Q, D] unit vectors.
  Rows gallery;  ///< [N, D]; the same rows if every item is a query.
  /// [Q] gallery position of the query itself, -1 if it is not there;
  /// undefined: none is.
  Tensor self = {};
  int64_t memory_mb = 512;  ///< For blocks of rows and of similarities.
};

/// A way to find more of what is alike once a network is trained, without
/// labels: a VectorReranker or an OrderReranker. A kind is a file in rerankers/
/// that registers itself (`kith list rerankers`).
class Reranker {
 public:
  virtual ~Reranker() = default;

  /// How many other items it looks at for each: a set needs as many.
  virtual int64_t neighbours() const = 0;
};

/// Puts a weighted sum of a vector and its nearest neighbours in the place of
/// the vector, scaled to unit length. Then is searched again.
class VectorReranker : public Reranker {
 public:
  /// Whose vectors change.
  enum class Side { kQueries, kGallery };
  virtual Side side() const = 0;

  /// Weights of neighbours with these similarities, of the same shape; that of
  /// the vector itself is 1.
  virtual Tensor weights(const Tensor& similarities) const = 0;
};

/// Gallery items that have something in common with queries.
struct RelatedItems {
  RankedPairs pairs;          ///< The items of each query, rising.
  std::vector<double> apart;  ///< Of each, below 1; 0: all in common.
};

/// A set in another order than that of similarities.
class ItemOrder {
 public:
  virtual ~ItemOrder() = default;

  /// The related items of the queries [first, last), without the queries
  /// themselves; `to` gives its memory. It works in memory of its own: only one
  /// thread may call it at a time.
  virtual void related(int64_t first, int64_t last, RelatedItems& to) = 0;

  /// What `count` items are ordered by, the least first; of equal ones the more
  /// similar comes first, then the lower position. `apart` is 1 of items that
  /// are not related. Never falls when the similarity does.
  virtual void distances(int64_t query, int64_t count, const double* apart,
                         const float* similarity, float* to) const = 0;

  float distance(int64_t query, double apart, float similarity) const {
    float found = 0;
    distances(query, 1, &apart, &similarity, &found);
    return found;
  }
};

/// Orders the items of each query anew.
class OrderReranker : public Reranker {
 public:
  /// So many of the items nearest to a query are ordered anew, among
  /// themselves; 0: all items, together.
  virtual int64_t candidates() const = 0;

  /// Of a set that must live as long. Ranks of a divided gallery call it
  /// together.
  virtual std::unique_ptr<ItemOrder> order(const RerankSet& set) const = 0;
};

using RerankerRegistry = Registry<Reranker>;

RerankerRegistry& reranker_registry();

/// A re-ranking and what it is called: its name with all options.
struct RerankStep {
  std::string text;  ///< "query_expansion:k=2,alpha=3"
  std::shared_ptr<const Reranker> part;
};

/// One after the other: those that change vectors, and one that orders items at
/// the end, or none.
using RerankSteps = std::vector<RerankStep>;

/// What "k_reciprocal" or "k_reciprocal:k1=30,k2=6" means. ConfigError for an
/// unknown name or option and for steps that cannot follow each other; `where`
/// is what errors call the place of the texts.
RerankSteps parse_rerank(const std::vector<std::string>& texts,
                         const std::string& where);

/// The one that a section of a configuration describes: a map with `name` and
/// options.
RerankStep rerank_step(const ConfigNode& section);

/// The text of a step by its name and options.
std::string rerank_text(const std::string& name, const ConfigNode& options);

/// rerank_step<KReciprocal>({.k1 = 30})
template <class Type>
RerankStep rerank_step(typename Type::Options options = {}) {
  const std::string name = reranker_registry().name_of(typeid(Type));
  const std::string text = rerank_text(name, write_options(options));
  return {text, std::make_shared<const Type>(std::move(options))};
}

/// "query_expansion:k=2,alpha=3, k_reciprocal:..."
std::string text_of(const RerankSteps& steps);

/// The step that orders items, at the end; null if there is none. ConfigError
/// if there is one elsewhere.
const OrderReranker* order_of(const RerankSteps& steps);

/// ConfigError if a step wants more neighbours than an item has.
void check_enough(const RerankStep& step, int64_t others);

}  // namespace kith
