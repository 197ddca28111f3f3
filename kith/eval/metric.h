#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kith/core/registry.h"
#include "kith/eval/scored.h"

namespace kith {

/// One query as metrics see it: where its positives stand in the ranking.
struct RankedQuery {
  std::span<const int64_t> ranks;  ///< Of all R positives, rising, from 1.
  int64_t candidates = 0;          ///< Items in the ranking.
  /// n_c, the class with the query counted: R + 1 if the query itself is in the
  /// gallery (and left out of the ranking), otherwise R.
  int64_t class_size = 0;

  int64_t positives() const { return static_cast<int64_t>(ranks.size()); }
  /// Positives among the k nearest.
  int64_t hits(int64_t k) const;
};

/// The number behind the @ of "recall_any@10" or "tar@0.001"; none for
/// metrics without one.
struct MetricInput {
  std::optional<double> at;
  std::string name = {};  ///< Of the metric, for errors.
};

/// Which of two values of a metric is of the better embeddings.
enum class Better { kLarger, kSmaller, kNeither };

/// Whether a value is to be preferred to another. One that is not finite never
/// is, and any other is preferred to it.
bool is_better(double value, double than, Better better);

/// The values that a metric can have, both ends included.
struct MetricRange {
  double low = 0;
  double high = 1;
};

/// A number that says how good embeddings are: a RankMetric or a SetMetric.
class Metric {
 public:
  virtual ~Metric() = default;
  /// A share of something, which is printed in percent.
  virtual bool is_share() const { return true; }
  /// kNeither: it describes embeddings, and cannot choose between them.
  virtual Better better() const { return Better::kLarger; }
  /// Of its value, or of each of a list. A value outside is a bug.
  virtual MetricRange range() const { return {0, 1}; }

  /// Of embeddings [N, D] with labels [N], each item searched among the others
  /// by cosine similarity: what evaluate() gives. NaN if it is not defined.
  /// ConfigError for a metric that is a list.
  double operator()(const Tensor& embeddings, const Tensor& labels) const;
};

/// A number for each query with positives; the metric is the mean over queries.
class RankMetric : public Metric {
 public:
  virtual double value(const RankedQuery& query) const = 0;
};

/// One number, or a list of numbers, of all embeddings together.
class SetMetric : public Metric {
 public:
  /// One element, or the list for metrics such as `spectrum`. Elements that are
  /// not defined are NaN. DataError for a set that the metric refuses.
  virtual std::vector<double> values(const ScoredSet& set) const = 0;
  virtual bool is_list() const { return false; }
  Better better() const override {
    return is_list() ? Better::kNeither : Better::kLarger;
  }
};

using MetricRegistry = Registry<Metric, MetricInput>;
MetricRegistry& metric_registry();

/// The k of a metric that needs one; ConfigError if it is missing, or no
/// positive integer.
int64_t metric_k(const MetricInput& input);

/// The same k, if it is positive; ConfigError if not.
int64_t checked_k(int64_t k);

/// ConfigError if a metric that takes no number was given one.
void no_metric_number(const MetricInput& input);

struct NamedMetric {
  std::string name;     ///< "recall_any@10"
  std::string summary;  ///< Its definition in one line.
  std::shared_ptr<const Metric> metric;
};

/// A metric made in C++, under a name of its own, for evaluate().
template <class Type>
NamedMetric named(std::string name, Type metric) {
  return {std::move(name), Type::kSummary,
          std::make_shared<const Type>(std::move(metric))};
}

/// "recall_any@1,10" is two metrics; "map_at_r" is one. ConfigError for an
/// unknown name, a number that is missing, not wanted, or not allowed.
std::vector<NamedMetric> parse_metrics(const std::vector<std::string>& names);

/// Of the metric "recall_any@10", or "medium/map" in a part of a protocol.
/// kNeither for a name that no metric has.
Better better_of(const std::string& name);

/// Splits "recall_any@1,10,map_at_r" at the commas that separate metrics.
std::vector<std::string> split_metric_list(const std::string& text);

}  // namespace kith
