#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kith/eval/evaluate.h"
#include "kith/eval/threshold_wish.h"

namespace kith {

struct DecisionOptions {
  ThresholdWish wish = {};
  /// Share of the classes that are not in the gallery of the open set, drawn
  /// with the seed; or `unknown_labels`, unless empty.
  double unknown = 0.5;
  std::vector<int64_t> unknown_labels = {};
  /// Queries that have no right item count as wrong in `precision`; otherwise
  /// they are left out of it and of `coverage`.
  bool misses = false;
  int64_t bootstrap = 1000;  ///< Resamples for intervals; 0: none.
  uint64_t seed = 0;
  int64_t memory_mb = 512;
  Communicator* ranks = nullptr;  ///< Who divides the work.
};

/// Rates at the thresholds of a curve, rising.
struct DecisionCurve {
  std::vector<double> threshold;
  std::vector<double> far;
  std::vector<double> tar;
  std::vector<double> precision;
  std::vector<double> coverage;
  std::vector<double> fpir;
  std::vector<double> tpir;
};

/// What the numbers of a decision stand on.
struct DecisionSize {
  int64_t classes = 0;
  int64_t drawn = 0;  ///< Of which the bootstrap draws as many: classes, or
                      ///< groups of them.
  int64_t positive_pairs = 0;
  int64_t negative_pairs = 0;
  int64_t queries = 0;
  int64_t unknown_classes = 0;
  int64_t mated = 0;  ///< Searches of the open set.
  int64_t non_mated = 0;
};

/// A threshold, and what it does: a pair or an answer is accepted if its
/// similarity is at least the threshold.
struct Decision {
  ThresholdWish wish;
  double threshold = 0;
  std::optional<Interval> interval;  ///< None of one that was given.
  /// far, tar, auroc, auprc, precision, coverage, fpir and tpir, where they are
  /// defined with 95% intervals; NaN where they are not.
  std::vector<MetricValue> rates;
  DecisionCurve curve;
  DecisionSize size;
  int64_t resamples = 0;
  int64_t seed = 0;
  std::string picked_on = {};  ///< A name for people; empty: it was given.
  bool is_same_set = false;    ///< Reported on what it was picked on.

  /// The rate of a name; ConfigError if there is no such.
  const MetricValue& rate(const std::string& name) const;
  /// "the least at which at most 0.1% of the pairs of two classes are
  /// accepted, picked on the validation split"
  std::string wish_text() const;
  /// What the rates stand on, and what is to be said of them: lines.
  std::vector<std::string> notes() const;
};

/// A share in percent, without the sign: "71.20", "0.0213"; rates of errors may
/// be small.
std::string small_share_text(double share);

/// Picks the threshold on one set, `picked`, or `reported` if that is null, and
/// measures on `reported` what it does. DataError if no threshold gives what
/// is wanted, or so few items cannot show such a rate. Ranks get the same
/// result, which is that of one.
Decision decide(const Scored& reported, const Scored* picked,
                const DecisionOptions& options);

}  // namespace kith
