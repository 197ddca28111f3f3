#pragma once

#include "kith/ops/rows/bins.h"

namespace kith {

/// FastAP and quantised AP are one function of the number of centres.
struct QuantisedApParams {
  int centres = 11;
};

}  // namespace kith

namespace kith::KITH_ROWS {

/// AP = 1/|P| sum_l h+_l H+_l / H_l, over bins from s = 1 down; H+ and H are
/// cumulative sums of the positives' h+ and of all.
template <class T>
class QuantisedApRow : public BinLoss<T> {
 public:
  using Params = QuantisedApParams;

  KITH_HD explicit QuantisedApRow(const Params& params)
      : BinLoss<T>(params.centres) {}

  KITH_HD RowSizes sizes() const { return {bins_.fields(), 0, 1, bins_.count}; }

  /// The total: queries with a positive.
  template <class Team>
  KITH_HD void settle(Team team, const RowView<T>& row) const {
    if (team.leader()) row.shares[0] = row.positives() > 0 ? 1 : 0;
  }

  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    if (team.leader()) differentiate(row);
    team.sync();
    bins_.close(team, row);
  }

 private:
  /// The value, and dL/d bin in place of the bins:
  ///
  ///     dAP/dh-_k = -1/|P| sum_{l >= k} h+_l H+_l / H_l^2
  ///     dAP/dh+_k = dAP/dh-_k
  ///                 + 1/|P| (H+_k / H_k + sum_{l >= k} h+_l / H_l)
  KITH_HD void differentiate(const RowView<T>& row) const {
    T* negative = row.fields;
    T* positive = row.fields + bins_.count;
    const auto positives = static_cast<double>(row.positives());
    const double share = positives > 0 ? 1 / row.totals[0] : 0;
    const double part = positives > 0 ? share / positives : 0;
    double above = 0;      // H+
    double all = 0;        // H
    double precision = 0;  // sum of h+ H+ / H
    double loses = 0;      // sum of h+ H+ / H^2
    double gains = 0;      // sum of h+ / H
    for (int l = 0; l < bins_.count; ++l) {
      const double own = positive[l];
      above += own;
      all += own + negative[l];
      if (own == 0) continue;
      precision += own * above / all;
      loses += own * above / (all * all);
      gains += own / all;
    }
    *row.value = share - part * precision;
    // Again from the start: what is left of a sum after subtractions is no
    // denominator.
    above = all = 0;
    for (int k = 0; k < bins_.count; ++k) {
      const double own = positive[k];
      above += own;
      all += own + negative[k];
      const double ratio = all > 0 ? above / all : 0;
      negative[k] = static_cast<T>(part * loses);
      positive[k] = static_cast<T>(part * (loses - gains - ratio));
      if (own == 0) continue;
      loses -= own * ratio / all;
      gains -= own / all;
    }
  }

  using BinLoss<T>::bins_;
};

}  // namespace kith::KITH_ROWS
