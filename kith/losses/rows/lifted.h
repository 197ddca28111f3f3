#pragma once

#include "kith/ops/rows/log_sum.h"

namespace kith {

struct LiftedParams {
  double pos_margin = 0;
  double neg_margin = 1;
};

}  // namespace kith

namespace kith::KITH_ROWS {

/// See kith/losses/lifted.h.
template <class T>
class LiftedRow : public LogSumLoss<T, DistanceExponent<T>> {
 public:
  using Params = LiftedParams;
  using Base = LogSumLoss<T, DistanceExponent<T>>;

  KITH_HD explicit LiftedRow(const Params& params)
      : Base({static_cast<T>(params.neg_margin)}),
        pos_margin_(static_cast<T>(params.pos_margin)) {}

  /// The total: rows.
  template <class Team>
  KITH_HD void settle(Team team, const RowView<T>& row) const {
    LogSumRow<T>::settle(team, row);
    if (team.leader()) row.shares[0] = 1;
  }

  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    LogSum<T, T> sum;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      if (x != row.self) sum.add(distance_of(row.similarity[x]) - pos_margin_);
    }
    const T positives = log_of(sum.gather(team));
    const T negatives = row.fields[LogSumRow<T>::kLog];
    const T both = or_zero(positives) + or_zero(negatives);
    const T part = both > 0 ? static_cast<T>(1 / row.totals[0]) : T(0);
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      const T s = row.similarity[x];
      const T share = exp_of<T>(distance_of(s) - pos_margin_ - positives);
      row.gradient[x] =
          x == row.self ? T(0) : -part * share * inverse_distance(s);
    }
    if (team.leader()) {
      *row.value = part * both;
      row.fields[LogSumRow<T>::kWeight] = part;
    }
  }

 private:
  /// An empty sum contributes nothing.
  KITH_HD T or_zero(T log) const { return is_empty(log) ? T(0) : log; }

  T pos_margin_;
};

}  // namespace kith::KITH_ROWS
