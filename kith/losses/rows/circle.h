#pragma once

#include "kith/ops/rows/log_sum.h"

namespace kith {

struct CircleParams {
  double m = 0.4;
  double gamma = 80;
  bool detach = true;
};

}  // namespace kith

namespace kith::KITH_ROWS {

/// gamma [s + m]+ (s - m), the bracket a constant weight if detached.
template <class T>
struct CircleExponent {
  T m;
  T gamma;
  bool detach;

  template <class V>
  KITH_HD V weight(V s) const {
    return s > -m ? V((s + m) * gamma) : V(s * 0);
  }
  template <class V>
  KITH_HD V f(V s) const {
    return weight(s) * (s - m);
  }
  template <class V>
  KITH_HD V slope(V s) const {
    if (detach) return weight(s);
    return s > -m ? V(s * (2 * gamma)) : V(s * 0);
  }
};

/// See kith/losses/circle.h.
template <class T>
class CircleRow : public LogSumLoss<T, CircleExponent<T>> {
 public:
  using Params = CircleParams;
  using Base = LogSumLoss<T, CircleExponent<T>>;
  static constexpr int kPositives = LogSumRow<T>::kFields;

  KITH_HD explicit CircleRow(const Params& params)
      : Base({static_cast<T>(params.m), static_cast<T>(params.gamma),
              params.detach}) {}

  KITH_HD RowSizes sizes() const {
    return {LogSumRow<T>::kFields + 1, 0, 1, 0};
  }

  /// The total: rows with a value above zero.
  template <class Team>
  KITH_HD void settle(Team team, const RowView<T>& row) const {
    LogSumRow<T>::settle(team, row);
    LogSum<T, T> sum;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      if (x != row.self) sum.add(positive(row.similarity[x]));
    }
    const T positives = log_of(sum.gather(team));
    if (team.leader()) {
      row.fields[kPositives] = positives;
      *row.value = usable(row) ? softplus<T>(exponent(row)) : T(0);
      row.shares[0] = *row.value > 0 ? 1 : 0;
    }
  }

  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    const bool used = usable(row) && row.totals[0] > 0;
    const T part = used ? static_cast<T>(1 / row.totals[0]) : T(0);
    const T weight = used ? part * logistic<T>(exponent(row)) : T(0);
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      const T s = row.similarity[x];
      const T share = exp_of<T>(positive(s) - row.fields[kPositives]);
      row.gradient[x] =
          used && x != row.self ? weight * share * positive_slope(s) : T(0);
    }
    if (team.leader()) {
      *row.value *= part;
      row.fields[LogSumRow<T>::kWeight] = weight;
    }
  }

 private:
  /// -gamma [1 + m - s]+ (s - (1 - m)).
  KITH_HD T positive(T s) const {
    return -positive_weight(s) * (s - 1 + exponent_.m);
  }
  KITH_HD T positive_weight(T s) const {
    return exponent_.gamma * max_of(1 + exponent_.m - s, T(0));
  }
  KITH_HD T positive_slope(T s) const {
    if (exponent_.detach) return -positive_weight(s);
    return s < 1 + exponent_.m ? -exponent_.gamma * (2 - 2 * s) : T(0);
  }
  KITH_HD bool usable(const RowView<T>& row) const {
    return !is_empty(row.fields[kPositives]) &&
           !is_empty(row.fields[LogSumRow<T>::kLog]);
  }
  KITH_HD T exponent(const RowView<T>& row) const {
    return row.fields[kPositives] + row.fields[LogSumRow<T>::kLog];
  }

  using Base::exponent_;
};

}  // namespace kith::KITH_ROWS
