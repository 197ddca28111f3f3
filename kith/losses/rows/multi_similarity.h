#pragma once

#include "kith/ops/rows/log_sum.h"

namespace kith {

struct MultiSimilarityParams {
  double alpha = 2;
  double beta = 40;
  double base = 0.5;
  double epsilon = 0.1;
  bool mining = true;
  bool mean_over_anchors = false;  ///< with pairs, instead of over all rows
};

}  // namespace kith

namespace kith::KITH_ROWS {

/// See kith/losses/multi_similarity.h. Which negatives are kept is known from
/// the positives before the tiles; the largest negative, which decides on the
/// positives, is found in them.
template <class T>
class MultiSimilarityRow {
 public:
  using Params = MultiSimilarityParams;
  static constexpr int kLimit = LogSumRow<T>::kFields;  ///< of kept negatives
  static constexpr int kLargest = LogSumRow<T>::kFields + 1;

  /// beta (s - base) of the negatives that are kept.
  struct Exponent {
    T beta;
    T base;
    T limit;

    template <class V>
    KITH_HD V f(V s) const {
      return s > limit ? V((s - base) * beta) : V(s * 0 + Real<T>::kLowest);
    }
    template <class V>
    KITH_HD V slope(V s) const {
      return s > limit ? V(s * 0 + beta) : V(s * 0);
    }
  };

  KITH_HD explicit MultiSimilarityRow(const Params& params)
      : alpha_(static_cast<T>(params.alpha)),
        beta_(static_cast<T>(params.beta)),
        base_(static_cast<T>(params.base)),
        epsilon_(static_cast<T>(params.epsilon)),
        mining_(params.mining),
        over_anchors_(params.mean_over_anchors) {}

  KITH_HD RowSizes sizes() const {
    return {LogSumRow<T>::kFields + 2, 0, 1, 0};
  }

  template <class Team>
  KITH_HD void open(Team team, const RowView<T>& row) const {
    T least = -Real<T>::kLowest;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      if (x != row.self) least = min_of(least, row.similarity[x]);
    }
    least = team.min(least);
    if (team.leader()) {
      row.fields[kLimit] = mining_ ? least - epsilon_ : Real<T>::kLowest;
      row.fields[kLargest] = Real<T>::kLowest;
    }
    LogSumRow<T>::open(team, row);
  }

  class Sweep {
   public:
    KITH_HD Sweep(const MultiSimilarityRow& loss, const RowView<T>& row,
                  int64_t, T*)
        : row_(row),
          sum_(loss.exponent(row), row),
          limit_(row.fields[kLimit]),
          largest_(Vec<T>{} + Real<T>::kLowest) {}
    KITH_HD static int64_t passes(const MultiSimilarityRow&,
                                  const RowView<T>&) {
      return 1;
    }

    template <int n>
    KITH_HD void absorb(const Vec<T> (&s)[n]) {
      for (int i = 0; i < n; ++i) absorb(s[i], Vec<T>{} + 1);
    }
    KITH_HD void absorb(Vec<T> s, Vec<T> used) {
      sum_.absorb(s, s > limit_ ? used : Vec<T>(used * 0));
      largest_ =
          max_of(largest_, used > 0 ? s : Vec<T>(s * 0 + Real<T>::kLowest));
    }

    template <class Team>
    KITH_HD void store(Team team) {
      sum_.store(team);
      const T largest = team.max(largest_);
      if (team.leader()) {
        row_.fields[kLargest] = max_of(row_.fields[kLargest], largest);
      }
    }

   private:
    const RowView<T>& row_;
    LogSumSweep<T, Exponent> sum_;
    T limit_;
    Vec<T> largest_;
  };

  struct Slope : LogSumSlope<T, Exponent> {
    Slope() = default;
    KITH_HD Slope(const MultiSimilarityRow& loss, const RowView<T>& row)
        : LogSumSlope<T, Exponent>(loss.exponent(row), row) {}
  };

  /// The total: rows, or rows with a pair that is kept.
  template <class Team>
  KITH_HD void settle(Team team, const RowView<T>& row) const {
    LogSumRow<T>::settle(team, row);
    bool kept = !is_empty(row.fields[LogSumRow<T>::kLog]);
    for (int64_t x = 0; x < row.size; ++x) kept = kept || keeps(row, x);
    if (team.leader()) row.shares[0] = kept || !over_anchors_ ? 1 : 0;
  }

  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    const T part = row.totals[0] > 0 ? static_cast<T>(1 / row.totals[0]) : T(0);
    const T negatives = row.fields[LogSumRow<T>::kLog];
    LogSum<T, T> sum;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      if (keeps(row, x)) sum.add(alpha_ * (base_ - row.similarity[x]));
    }
    const T positives = log_of(sum.gather(team));
    const T pull = part * logistic<T>(positives);
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      const T f = alpha_ * (base_ - row.similarity[x]);
      row.gradient[x] = keeps(row, x) ? -pull * exp_of<T>(f - positives) : T(0);
    }
    team.sync();
    if (team.leader()) {
      *row.value = part * (softplus<T>(positives) / alpha_ +
                           softplus<T>(negatives) / beta_);
      row.fields[LogSumRow<T>::kWeight] = part * logistic<T>(negatives) / beta_;
    }
  }

 private:
  KITH_HD Exponent exponent(const RowView<T>& row) const {
    return {beta_, base_, row.fields[kLimit]};
  }
  KITH_HD bool keeps(const RowView<T>& row, int64_t x) const {
    return x != row.self &&
           (!mining_ || row.similarity[x] < row.fields[kLargest] + epsilon_);
  }

  T alpha_, beta_, base_, epsilon_;
  bool mining_;
  bool over_anchors_;
};

}  // namespace kith::KITH_ROWS
