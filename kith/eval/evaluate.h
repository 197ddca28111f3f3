#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kith/core/tensor.h"
#include "kith/eval/metric.h"
#include "kith/index/flat.h"

namespace kith {

/// Embeddings to be scored. Without a gallery of its own, every query is
/// searched among the others, itself excluded by position.
struct Scored {
  Tensor queries;         ///< [Q, D] unit vectors.
  Tensor query_labels;    ///< [Q] int64
  Tensor gallery;         ///< [N, D]; undefined: the queries themselves.
  Tensor gallery_labels;  ///< [N]
  /// [Q] gallery position of the query itself, -1 if it is not there;
  /// undefined: none is, or (without a gallery) its own position.
  Tensor self;
};

struct MetricValue {
  std::string name;
  double value = 0;
  std::string definition;
};

struct EvalResult {
  std::vector<MetricValue> metrics;
  int64_t queries = 0;  ///< All, those without positives included.
  int64_t gallery = 0;
  int64_t without_positives = 0;
  bool self_excluded = false;
  bool counted_as_misses = false;  ///< What happened to those without.

  /// "4000 queries, gallery 4000, ...": the rules the numbers stand on.
  std::string protocol_line() const;
  /// The value of a metric by name; NaN if it was not computed.
  double at(const std::string& name) const;
};

/// Queries without positives have no defined result: they are left out, or
/// count as zero if `misses` (published evaluations).
EvalResult evaluate(const Scored& scored,
                    const std::vector<NamedMetric>& metrics,
                    bool misses = false);

}  // namespace kith
