#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "kith/eval/metric.h"

namespace kith {

/// The metrics of kith, to be made in C++ and called with embeddings and
/// labels:
///
///     const double recall = RecallAnyMetric({.k = 10})(embeddings, labels);
///
/// or several at once, which is cheaper, by evaluate(). Their numbers in
/// configurations, "recall_any@10", are the options here.

/// Of a metric that looks at the k nearest.
struct AtK {
  int64_t k = 1;
};

/// A metric without options.
template <class Base>
class PlainMetric : public Base {
 public:
  using Options = NoOptions;

  PlainMetric() = default;
  PlainMetric(const NoOptions&, const MetricInput& input) {
    no_metric_number(input);
  }
};

/// A metric of the k nearest: "name@k". ConfigError if k is not positive.
class NearestMetric : public RankMetric {
 public:
  using Options = NoOptions;

  explicit NearestMetric(AtK options = {}) : k_(checked_k(options.k)) {}
  NearestMetric(const NoOptions&, const MetricInput& input)
      : k_(metric_k(input)) {}

 protected:
  int64_t k() const { return k_; }

 private:
  int64_t k_;
};

// Of the k nearest and of ranks; means over queries.

class RecallAnyMetric final : public NearestMetric {
 public:
  static constexpr const char* kSummary =
      "share of queries with at least one positive among the k nearest";
  using NearestMetric::NearestMetric;

  double value(const RankedQuery& query) const override;
};

class RecallFractionMetric final : public NearestMetric {
 public:
  static constexpr const char* kSummary =
      "positives among the k nearest / R, R = positives of the query; mean "
      "over queries";
  using NearestMetric::NearestMetric;

  double value(const RankedQuery& query) const override;
};

class RecallFractionMinMetric final : public NearestMetric {
 public:
  static constexpr const char* kSummary =
      "positives among the k nearest / min(k, R), R = positives of the query;"
      " mean over queries";
  using NearestMetric::NearestMetric;

  double value(const RankedQuery& query) const override;
};

class PrecisionMetric final : public NearestMetric {
 public:
  static constexpr const char* kSummary =
      "positives among the k nearest / k, mean over queries";
  using NearestMetric::NearestMetric;

  double value(const RankedQuery& query) const override;
};

class PrecisionCMetric final : public PlainMetric<RankMetric> {
 public:
  static constexpr const char* kSummary =
      "positives among the n_c nearest / n_c, n_c = size of the class with "
      "the query counted; mean over queries";
  using PlainMetric::PlainMetric;

  double value(const RankedQuery& query) const override;
};

class RPrecisionMetric final : public PlainMetric<RankMetric> {
 public:
  static constexpr const char* kSummary =
      "positives among the R nearest / R, R = positives of the query; mean "
      "over queries";
  using PlainMetric::PlainMetric;

  double value(const RankedQuery& query) const override;
};

class MeanPrecisionMetric final : public NearestMetric {
 public:
  static constexpr const char* kSummary =
      "precision at min(k, rank of the last positive), as of Oxford and Paris: "
      "queries with fewer than k positives can reach 1";
  using NearestMetric::NearestMetric;

  double value(const RankedQuery& query) const override;
};

class MrrMetric final : public PlainMetric<RankMetric> {
 public:
  static constexpr const char* kSummary =
      "1 / rank of the nearest positive, mean over queries";
  using PlainMetric::PlainMetric;

  double value(const RankedQuery& query) const override;
};

class NdcgMetric final : public NearestMetric {
 public:
  static constexpr const char* kSummary =
      "sum of 1 / log2(1 + rank) over positives among the k nearest, divided "
      "by the same sum with the first min(k, R) places taken by positives; "
      "mean over queries";
  using NearestMetric::NearestMetric;

  double value(const RankedQuery& query) const override;
};

// Of the precisions at the ranks of the positives; means over queries.

struct MapOptions {
  int64_t k = 0;  ///< The nearest that count; 0: all.
};

class MapMetric final : public RankMetric {
 public:
  static constexpr const char* kSummary =
      "mean over positives of the precision at their rank, mean over queries; "
      "map@k: over the k nearest, divided by the lesser of positives and k";
  using Options = NoOptions;

  explicit MapMetric(MapOptions options = {});
  MapMetric(const NoOptions&, const MetricInput& input);

  double value(const RankedQuery& query) const override;

 private:
  int64_t k_;
};

class Map1000Metric final : public PlainMetric<RankMetric> {
 public:
  static constexpr const char* kSummary =
      "1/n_c sum over i <= 1000 of precision@i where the i-th is a positive, "
      "n_c = size of the class with the query counted; mean over queries (as "
      "published code, without its padding of short rankings)";
  using PlainMetric::PlainMetric;

  double value(const RankedQuery& query) const override;
};

class MapAtRMetric final : public PlainMetric<RankMetric> {
 public:
  static constexpr const char* kSummary =
      "1/R sum over i <= R of precision@i where the i-th is a positive, R = "
      "positives of the query; mean over queries";
  using PlainMetric::PlainMetric;

  double value(const RankedQuery& query) const override;
};

class MapCMetric final : public PlainMetric<RankMetric> {
 public:
  static constexpr const char* kSummary =
      "1/n_c sum over i <= n_c of precision@i where the i-th is a positive, "
      "n_c = size of the class with the query counted; mean over queries (as "
      "published code; a perfect ranking gives (n_c - 1) / n_c)";
  using PlainMetric::PlainMetric;

  double value(const RankedQuery& query) const override;
};

class MapTrapezoidMetric final : public PlainMetric<RankMetric> {
 public:
  static constexpr const char* kSummary =
      "mean over positives of (p' + p) / 2, p the precision at the positive's "
      "rank and p' the one just before it (1 at rank 1): the area under the "
      "precision-recall curve by the trapezoid rule, as of Oxford and Paris";
  using PlainMetric::PlainMetric;

  double value(const RankedQuery& query) const override;
};

// Of all items together: clusters, spread, spectrum, verification.

class NmiMetric final : public PlainMetric<SetMetric> {
 public:
  static constexpr const char* kSummary =
      "normalised mutual information 2 I / (H_clusters + H_classes); clusters"
      " given, or by k-means: seeded, as many as classes, at most 20 rounds";
  using PlainMetric::PlainMetric;

  std::vector<double> values(const ScoredSet& set) const override;
};

class AmiMetric final : public PlainMetric<SetMetric> {
 public:
  static constexpr const char* kSummary =
      "mutual information of clusters and classes adjusted for chance, (I - "
      "E) / ((H_clusters + H_classes) / 2 - E); clusters given, or by "
      "k-means: seeded, as many as classes, at most 20 rounds";
  using PlainMetric::PlainMetric;

  /// Below zero where clusters agree with classes less than by chance.
  MetricRange range() const override { return {-1, 1}; }
  std::vector<double> values(const ScoredSet& set) const override;
};

class F1Metric final : public PlainMetric<SetMetric> {
 public:
  static constexpr const char* kSummary =
      "harmonic mean of precision and recall of pairs in one cluster as pairs"
      " of one class; clusters given, or by k-means: seeded, as many as "
      "classes, at most 20 rounds";
  using PlainMetric::PlainMetric;

  std::vector<double> values(const ScoredSet& set) const override;
};

class IntraMetric final : public PlainMetric<SetMetric> {
 public:
  static constexpr const char* kSummary =
      "mean cosine distance of the pairs of a class, mean over classes of two"
      " items or more";
  using PlainMetric::PlainMetric;

  bool is_share() const override { return false; }
  Better better() const override { return Better::kSmaller; }
  MetricRange range() const override { return {0, 2}; }
  std::vector<double> values(const ScoredSet& set) const override;
};

class InterMetric final : public PlainMetric<SetMetric> {
 public:
  static constexpr const char* kSummary =
      "mean cosine distance of the normalised means of two classes, over all "
      "pairs of classes";
  using PlainMetric::PlainMetric;

  bool is_share() const override { return false; }
  MetricRange range() const override { return {0, 2}; }
  std::vector<double> values(const ScoredSet& set) const override;
};

class IntraOverInterMetric final : public PlainMetric<SetMetric> {
 public:
  static constexpr const char* kSummary =
      "mean cosine distance within classes / between class means: intra / "
      "inter";
  using PlainMetric::PlainMetric;

  bool is_share() const override { return false; }
  Better better() const override { return Better::kSmaller; }
  MetricRange range() const override {
    return {0, std::numeric_limits<double>::infinity()};
  }
  std::vector<double> values(const ScoredSet& set) const override;
};

struct RhoOptions {
  int64_t dropped = 0;  ///< Of the largest singular values; rho@m drops m - 1.
};

class RhoMetric final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "KL(uniform || s) in nats, s = singular values of the [N, D] "
      "embeddings, not centred, divided by their sum; higher: stronger decay."
      " rho@m (rho_m) drops the m - 1 largest first. Infinite (null) for "
      "embeddings of lower rank: see rho_occupied";
  using Options = NoOptions;

  explicit RhoMetric(RhoOptions options = {});
  RhoMetric(const NoOptions&, const MetricInput& input);

  bool is_share() const override { return false; }
  Better better() const override { return Better::kNeither; }
  MetricRange range() const override {
    return {0, std::numeric_limits<double>::infinity()};
  }
  std::vector<double> values(const ScoredSet& set) const override;

 private:
  int64_t dropped_;
};

/// HIST's embeddings come from a LayerNorm without scale and shift, so their
/// numbers sum to zero: one direction is empty, and rho infinite.
class RhoOccupiedMetric final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "rho within the directions that embeddings occupy, those of singular "
      "values above 1e-6 of the largest; rho itself where that is all. A "
      "network that has collapsed has few and may have a small one: see "
      "occupied. rho_occupied@m drops the m - 1 largest first";
  using Options = NoOptions;

  explicit RhoOccupiedMetric(RhoOptions options = {});
  RhoOccupiedMetric(const NoOptions&, const MetricInput& input);

  bool is_share() const override { return false; }
  Better better() const override { return Better::kNeither; }
  MetricRange range() const override {
    return {0, std::numeric_limits<double>::infinity()};
  }
  std::vector<double> values(const ScoredSet& set) const override;

 private:
  int64_t dropped_;
};

class OccupiedMetric final : public PlainMetric<SetMetric> {
 public:
  static constexpr const char* kSummary =
      "how many directions embeddings occupy: singular values of the [N, D] "
      "embeddings, not centred, above 1e-6 of the largest";
  using PlainMetric::PlainMetric;

  bool is_share() const override { return false; }
  Better better() const override { return Better::kNeither; }
  MetricRange range() const override {
    return {0, std::numeric_limits<double>::infinity()};
  }
  std::vector<double> values(const ScoredSet& set) const override;
};

class SpectrumMetric final : public PlainMetric<SetMetric> {
 public:
  static constexpr const char* kSummary =
      "singular values of the [N, D] embeddings, not centred, largest first, "
      "divided by their sum; a list";
  using PlainMetric::PlainMetric;

  std::vector<double> values(const ScoredSet& set) const override;
  bool is_list() const override { return true; }
};

class ClassSpectrumMetric final : public PlainMetric<SetMetric> {
 public:
  static constexpr const char* kSummary =
      "mean over classes of two items or more of the singular values of the "
      "class's embeddings, largest first, divided by their sum (zeros for "
      "those a small class does not have); a list of the first 35";
  using PlainMetric::PlainMetric;

  std::vector<double> values(const ScoredSet& set) const override;
  bool is_list() const override { return true; }
};

struct TarOptions {
  double far = 0.001;  ///< The false acceptance rate.
};

class TarMetric final : public SetMetric {
 public:
  static constexpr const char* kSummary =
      "verification: share of the positive pairs of query and item that are "
      "accepted by the lowest threshold of similarity that accepts at most "
      "the given share of the negative pairs";
  using Options = NoOptions;

  explicit TarMetric(TarOptions options = {});
  TarMetric(const NoOptions&, const MetricInput& input);

  std::vector<double> values(const ScoredSet& set) const override;

 private:
  double far_;
};

}  // namespace kith
