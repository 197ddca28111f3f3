#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kith/eval/metric.h"
#include "kith/eval/scored.h"
#include "kith/index/reranker.h"

namespace kith {

class Communicator;

/// A 95% confidence interval.
struct Interval {
  double low = 0;
  double high = 0;
};

struct MetricValue {
  std::string name;
  double value = 0;
  std::string definition;
  std::vector<double> list = {};  ///< Of a metric that is a list of numbers.
  std::optional<Interval> interval = {};
  /// [Q] of a metric by query; NaN for queries that were left out.
  std::vector<double> by_query = {};
  bool is_share = true;  ///< Of something: printed in percent.
  Better better = Better::kLarger;
  size_t part = 0;  ///< Which of EvalResult::parts it is of.
};

/// The items that numbers stand on: one evaluation of a protocol.
struct EvalPart {
  std::string name;     ///< "medium"; empty if the protocol has one part.
  int64_t queries = 0;  ///< All, those without positives included.
  int64_t gallery = 0;
  int64_t without_positives = 0;
  int64_t junk = 0;  ///< Pairs left out of rankings.
  int64_t draws = 1;
  bool self_excluded = false;
  std::vector<int64_t> query_labels = {};  ///< With EvaluateOptions::by_query.
};

struct EvalResult {
  std::vector<MetricValue> metrics;  ///< "medium/map" in a part with a name.
  std::vector<EvalPart> parts;
  bool counted_as_misses = false;  ///< What happened to those without.
  std::string rerank = {};         ///< How items were ordered anew; empty: not.

  /// "4000 queries, gallery 4000, ...": the rules the numbers stand on, a line
  /// for each part.
  std::string protocol_line() const;
  /// The value of a metric by name; without a part's name, of the first part
  /// that has it. NaN if it was not computed.
  double at(const std::string& name) const;
};

struct EvaluateOptions {
  /// Queries without positives have no defined result: they are left out, or
  /// count as zero if `misses` (published evaluations).
  bool misses = false;
  int64_t bootstrap = 0;    ///< Resamples for intervals; 0: none.
  bool by_query = false;    ///< Keep MetricValue::by_query.
  uint64_t seed = 0;        ///< Of resamples and clusterings.
  int64_t memory_mb = 512;  ///< For blocks.
  Tensor clusters = {};     ///< ScoredSet::clusters
  /// Before ranks are taken. The result then has only the metrics of ranks.
  RerankSteps rerank = {};
  /// Who divides the work, all with the same embeddings, or each with its own
  /// (shared_rows.h); null: this process alone.
  Communicator* ranks = nullptr;
};

/// Adds the one part of `part` to a result, under a name.
void add_part(const std::string& name, EvalResult part, EvalResult& result);

/// Scores embeddings: one part without a name. Ranks compare their own part of
/// the gallery with all queries; metrics of all embeddings together are
/// computed by every rank, those of the first count. All get the same result,
/// which is that of one rank; an error of one is a RankError on the others.
EvalResult evaluate(const Scored& given,
                    const std::vector<NamedMetric>& metrics,
                    const EvaluateOptions& options = {});

}  // namespace kith
