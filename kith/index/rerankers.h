#pragma once

#include <memory>

#include "kith/index/reranker.h"

namespace kith {

/// How many neighbours are added to a vector, and how much they weigh.
struct ExpansionOptions {
  int64_t k = 5;
  double alpha = 3;

  void describe(OptionSet& set);
};

/// What the next two are: x + sum of s_i^alpha x_i over the k nearest, scaled
/// to unit length. Negative similarities weigh nothing, so that the product of
/// the sum with x is at least 1.
class NeighbourMean : public VectorReranker {
 public:
  using Options = ExpansionOptions;

  int64_t neighbours() const override { return options_.k; }
  Tensor weights(const Tensor& similarities) const override;

 protected:
  NeighbourMean(const Options& options, const char* name);

 private:
  Options options_;
};

/// Each query with its neighbours in the gallery.
class QueryExpansion final : public NeighbourMean {
 public:
  static constexpr const char* kSummary =
      "alpha query expansion: searches again with a query and its nearest "
      "items together";
  static constexpr PartFacts kFacts = {
      .formula =
          "q' = q + sum over the k nearest of s(q, x_i)^alpha x_i,\n"
          "scaled to unit length; alpha 0: average query expansion",
      .source =
          "Radenovic, Tolias and Chum, Fine-tuning CNN image retrieval "
          "with no human annotation, TPAMI 2019",
      .cost = "a search more",
      .golden = "rerank_expansion"};

  explicit QueryExpansion(const Options& options = {})
      : NeighbourMean(options, "query_expansion") {}
  Side side() const override { return Side::kQueries; }
};

/// Each gallery item with its neighbours there.
class DatabaseAugmentation final : public NeighbourMean {
 public:
  static constexpr const char* kSummary =
      "database-side augmentation: searches among items that have their "
      "nearest items added";
  static constexpr PartFacts kFacts = {
      .formula =
          "x' = x + sum over the k nearest of s(x, x_i)^alpha x_i,\n"
          "scaled to unit length",
      .source =
          "Arandjelovic and Zisserman, Three things everyone should "
          "know to improve object retrieval, CVPR 2012",
      .cost = "a search of the gallery among itself, and its vectors again",
      .golden = "rerank_expansion"};

  explicit DatabaseAugmentation(const Options& options = {})
      : NeighbourMean(options, "database_augmentation") {}
  Side side() const override { return Side::kGallery; }
};

struct KReciprocalOptions {
  int64_t k1 = 20;
  int64_t k2 = 6;
  double lambda = 0.3;
  int64_t candidates = 0;

  void describe(OptionSet& set);
};

/// k-reciprocal encoding. All items, queries that are not in the gallery before
/// those of the gallery, are compared with each other, where
///
///     d(p, g) = max(0, 2 - 2 s(p, g)) / (the largest of p); d(p, p) = 0
///     N(p, k): p itself and its k nearest others
///     R(p, k): those g of N(p, k) with p in N(g, k)
///     R*(p):   R(p, k1) and R(c, k1 / 2) of each c in it that has more than
///              two thirds of these in R(p, k1); k1 / 2 rounds half to even
///     V(p):    exp(-d(p, g)) for g in R*(p), with sum 1; then the mean of
///              those of the k2 first of N(p, k1)
///     J(p, g): 1 - m / (2 - m), m = sum of min(V(p), V(g))
///
/// and items are ordered by (1 - lambda) J + lambda d. A query in the gallery
/// has the vector of its item there.
class KReciprocal final : public OrderReranker {
 public:
  static constexpr const char* kSummary =
      "k-reciprocal re-ranking: items that share their mutual neighbours with "
      "the query come first";
  static constexpr PartFacts kFacts = {
      .formula =
          "(1 - lambda) Jaccard distance of k-reciprocal sets + lambda "
          "d / largest d",
      .source =
          "Zhong, Zheng, Cao and Li, Re-ranking person "
          "re-identification with k-reciprocal encoding, CVPR 2017",
      .cost =
          "two searches of all items among themselves; memory for about "
          "k1 (k2 + 1) numbers an item, never a matrix",
      .golden = "rerank_k_reciprocal"};
  using Options = KReciprocalOptions;

  explicit KReciprocal(const Options& options = {});

  int64_t neighbours() const override { return options_.k1; }
  int64_t candidates() const override { return options_.candidates; }
  std::unique_ptr<ItemOrder> order(const RerankSet& set) const override;

 private:
  Options options_;
};

}  // namespace kith
