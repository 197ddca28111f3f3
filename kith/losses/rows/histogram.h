#pragma once

#include "kith/ops/rows/bins.h"

namespace kith {

struct HistogramParams {
  int centres = 65;
};

}  // namespace kith

namespace kith::KITH_ROWS {

/// See kith/losses/histogram.h. The totals are the bins of all pairs, the
/// negatives' first; each pair is in twice, which cancels.
template <class T>
class HistogramRow : public BinLoss<T> {
 public:
  using Params = HistogramParams;

  KITH_HD explicit HistogramRow(const Params& params)
      : BinLoss<T>(params.centres) {}

  KITH_HD RowSizes sizes() const {
    return {bins_.fields(), 0, bins_.fields(), bins_.count};
  }

  template <class Team>
  KITH_HD void settle(Team team, const RowView<T>& row) const {
    for (int64_t b = team.lane(); b < bins_.fields(); b += team.size()) {
      row.shares[b] = row.fields[b];
    }
  }

  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    if (team.leader()) differentiate(row);
    team.sync();
    bins_.close(team, row);
  }

 private:
  /// With h normalised, loss = sum_r h-_r sum_{q below r} h+_q, where a bin is
  /// below itself. Every row finds the same derivatives; the first has the
  /// value.
  KITH_HD void differentiate(const RowView<T>& row) const {
    const double* negative = row.totals;
    const double* positive = row.totals + bins_.count;
    double negatives = 0;
    double positives = 0;
    for (int b = 0; b < bins_.count; ++b) {
      negatives += negative[b];
      positives += positive[b];
    }
    const bool used = negatives > 0 && positives > 0;
    const double part = used ? 1 / (negatives * positives) : 0;
    double value = 0;
    double above = 0;          // negatives at or above the bin
    double below = positives;  // positives at or below it
    for (int b = 0; b < bins_.count; ++b) {
      above += negative[b];
      value += part * negative[b] * below;
      row.fields[b] = static_cast<T>(part * below);
      row.fields[bins_.count + b] = static_cast<T>(part * above);
      below -= positive[b];
    }
    *row.value = row.index == 0 ? value : 0;
  }

  using BinLoss<T>::bins_;
};

}  // namespace kith::KITH_ROWS
