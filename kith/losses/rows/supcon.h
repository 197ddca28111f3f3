#pragma once

#include "kith/ops/rows/log_sum.h"

namespace kith {

struct SupconParams {
  double temperature = 0.1;
};

}  // namespace kith

namespace kith::KITH_ROWS {

/// See kith/losses/supcon.h.
template <class T>
class SupconRow : public LogSumLoss<T, LinearExponent<T>> {
 public:
  using Params = SupconParams;
  using Base = LogSumLoss<T, LinearExponent<T>>;

  KITH_HD explicit SupconRow(const Params& params)
      : Base({static_cast<T>(1 / params.temperature), 0}) {}

  /// The log sum of all columns but the row itself, in place of the
  /// negatives'. The total: rows with a value above zero.
  template <class Team>
  KITH_HD void settle(Team team, const RowView<T>& row) const {
    LogSumRow<T>::settle(team, row);
    LogSum<T, T> positives;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      if (x != row.self) positives.add(exponent_.f(row.similarity[x]));
    }
    const T log =
        log_add(row.fields[LogSumRow<T>::kLog], log_of(positives.gather(team)));
    team.sync();
    if (team.leader()) row.fields[LogSumRow<T>::kLog] = log;
    team.sync();
    const double value = value_of(team, row);
    if (team.leader()) {
      *row.value = value;
      row.shares[0] = value > 0 ? 1 : 0;
    }
  }

  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    const double value = *row.value;
    team.sync();
    const double share = value > 0 ? 1 / row.totals[0] : 0;
    const T part = static_cast<T>(share);
    const T log = row.fields[LogSumRow<T>::kLog];
    const T each = part / static_cast<T>(max_of<int64_t>(row.positives(), 1));
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      const T push = part * exp_of<T>(exponent_.f(row.similarity[x]) - log);
      row.gradient[x] = x == row.self ? T(0) : (push - each) * exponent_.a;
    }
    if (team.leader()) {
      *row.value = value * share;
      row.fields[LogSumRow<T>::kWeight] = part;
    }
  }

 private:
  /// -1/|P| sum_p (s_p/t - log sum); 0 without positives.
  template <class Team>
  KITH_HD double value_of(Team team, const RowView<T>& row) const {
    if (row.positives() == 0) return 0;
    const T log = row.fields[LogSumRow<T>::kLog];
    double sum = 0;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      if (x != row.self) sum += log - exponent_.f(row.similarity[x]);
    }
    return team.sum(sum) / static_cast<double>(row.positives());
  }

  using Base::exponent_;
};

}  // namespace kith::KITH_ROWS
