#pragma once

#include "kith/ops/rows/log_sum.h"

namespace kith {

/// Also the N-pair losses: temperature 1, one positive a row.
struct NtXentParams {
  double temperature = 0.07;
};

}  // namespace kith

namespace kith::KITH_ROWS {

/// log(1 + sum_n e^{(s_n - s_p)/t}) of every positive p.
template <class T>
class NtXentRow : public LogSumLoss<T, LinearExponent<T>> {
 public:
  using Params = NtXentParams;
  using Base = LogSumLoss<T, LinearExponent<T>>;

  KITH_HD explicit NtXentRow(const Params& params)
      : Base({static_cast<T>(1 / params.temperature), 0}) {}

  /// The total: pairs of a row and a positive.
  template <class Team>
  KITH_HD void settle(Team team, const RowView<T>& row) const {
    LogSumRow<T>::settle(team, row);
    if (team.leader()) {
      row.shares[0] =
          row.target >= 0 ? 1 : static_cast<double>(row.positives());
    }
  }

  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    const T part = row.totals[0] > 0 ? static_cast<T>(1 / row.totals[0]) : T(0);
    const T log = row.fields[LogSumRow<T>::kLog];
    double value = 0;
    T weight = 0;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      const bool positive = row.target >= 0 ? x == row.target : x != row.self;
      row.gradient[x] = 0;
      if (!positive) continue;
      const T gap = log - exponent_.f(row.similarity[x]);
      const T push = part * logistic<T>(gap);
      value += part * softplus<T>(gap);
      weight += push;
      row.gradient[x] = -push * exponent_.a;
    }
    LogSumRow<T>::finish(team, row, value, weight);
  }

 private:
  using Base::exponent_;
};

}  // namespace kith::KITH_ROWS
