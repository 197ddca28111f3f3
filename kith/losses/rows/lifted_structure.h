#pragma once

#include "kith/ops/rows/log_sum.h"

namespace kith {

struct LiftedStructureParams {
  double pos_margin = 0;
  double neg_margin = 1;
};

}  // namespace kith

namespace kith::KITH_ROWS {

/// See kith/losses/lifted_structure.h. A pair of positives looks at the
/// negatives of both: rows must be their own columns.
template <class T>
class LiftedStructureRow : public LogSumLoss<T, DistanceExponent<T>> {
 public:
  using Params = LiftedStructureParams;
  using Base = LogSumLoss<T, DistanceExponent<T>>;

  KITH_HD explicit LiftedStructureRow(const Params& params)
      : Base({static_cast<T>(params.neg_margin)}),
        pos_margin_(static_cast<T>(params.pos_margin)) {}

  /// The total: ordered pairs of positives.
  template <class Team>
  KITH_HD void settle(Team team, const RowView<T>& row) const {
    LogSumRow<T>::settle(team, row);
    if (team.leader()) row.shares[0] = static_cast<double>(row.positives());
  }

  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    const T part = row.totals[0] > 0 ? static_cast<T>(1 / row.totals[0]) : T(0);
    const T own = row.fields[LogSumRow<T>::kLog];
    double value = 0;
    T weight = 0;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      row.gradient[x] = 0;
      if (x == row.self) continue;
      const T both = log_add(own, row.field_of(x, LogSumRow<T>::kLog));
      const T s = row.similarity[x];
      const T j = distance_of(s) - pos_margin_ + both;
      if (j <= 0) continue;
      value += part * j * j / 2;
      // The pair in the other order has this row's negatives too.
      weight += 2 * part * j * exp_of<T>(own - both);
      row.gradient[x] = -part * j * inverse_distance(s);
    }
    LogSumRow<T>::finish(team, row, value, weight);
  }

 private:
  T pos_margin_;
};

}  // namespace kith::KITH_ROWS
