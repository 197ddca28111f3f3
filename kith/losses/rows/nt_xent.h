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
class NtXentRow {
 public:
  using Params = NtXentParams;
  using Exponent = LinearExponent<T>;

  KITH_HD explicit NtXentRow(const Params& params)
      : scale_(static_cast<T>(1 / params.temperature)), exponent_{scale_, 0} {}

  KITH_HD RowSizes sizes() const { return {LogSumRow<T>::kFields, 0, 1, 0}; }

  template <class Team>
  KITH_HD void open(Team team, const RowView<T>& row) const {
    LogSumRow<T>::open(team, row);
  }

  struct Sweep : LogSumSweep<T, Exponent> {
    KITH_HD Sweep(const NtXentRow& loss, const RowView<T>& row, int64_t, T*)
        : LogSumSweep<T, Exponent>(loss.exponent_, row) {}
    KITH_HD static int64_t passes(const NtXentRow&, const RowView<T>&) {
      return 1;
    }
  };

  struct Slope : LogSumSlope<T, Exponent> {
    Slope() = default;
    KITH_HD Slope(const NtXentRow& loss, const RowView<T>& row)
        : LogSumSlope<T, Exponent>(loss.exponent_, row) {}
  };

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
      row.gradient[x] = -push * scale_;
    }
    value = team.sum(value);
    weight = team.sum(weight);
    if (team.leader()) {
      *row.value = value;
      row.fields[LogSumRow<T>::kWeight] = weight;
    }
  }

 private:
  T scale_;
  Exponent exponent_;
};

}  // namespace kith::KITH_ROWS
