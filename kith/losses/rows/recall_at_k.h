#pragma once

#include "kith/ops/rows/rank.h"

namespace kith {

/// Parameters of RS@k for the kernels; kith/losses/recall_at_k.cpp has the
/// formula.
struct RecallAtKParams {
  static constexpr int kMostK = 64;
  double t1 = 1.0;
  double t2 = 0.01;
  bool query_in_database = false;
  int k_count = 1;
  double k[kMostK] = {1};
};

}  // namespace kith

namespace kith::KITH_ROWS {

template <class T>
class RecallAtKRow : public RankLoss<T> {
 public:
  using Params = RecallAtKParams;
  using Rank = RankRow<T>;

  KITH_HD explicit RecallAtKRow(const Params& params)
      : RankLoss<T>(params.t2, false), params_(params) {}

  KITH_HD RowSizes sizes() const { return {Rank::kFields, Rank::kNotes, 1, 0}; }

  /// Ranks among the other positives (and the query itself if it counts).
  template <class Team>
  KITH_HD void open(Team team, const RowView<T>& row) const {
    this->count_class(team, row, params_.query_in_database ? -1 : row.self);
    // Less the positive's own sigmoid.
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      row.note(Rank::kCount, x) -= T(0.5);
    }
  }

  /// The total: queries with a positive.
  template <class Team>
  KITH_HD void settle(Team team, const RowView<T>& row) const {
    if (team.leader()) row.shares[0] = row.positives() > 0 ? 1 : 0;
  }

  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    const int64_t positives = row.positives();
    const T part = positives == 0
                       ? T(0)
                       : static_cast<T>(1 / (row.totals[0] * params_.k_count));
    const T inverse_t1 = static_cast<T>(1 / params_.t1);
    double value = 0;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      row.gradient[x] = 0;
    }
    team.sync();  // the lane of a positive is not that of its slot
    for (int i = 0; i < params_.k_count && positives > 0; ++i) {
      const T k = static_cast<T>(params_.k[i]);
      const T share = part / min_of(k, static_cast<T>(positives));
      T recall = 0;
      for (int64_t n = team.lane(); n < positives; n += team.size()) {
        recall += within(k, inverse_t1, row, rank_.slot_of(row, n));
      }
      recall = team.sum(recall);
      value += part - share * (recall > k ? k : recall);
      if (recall > k) continue;  // clipped: no slope
      for (int64_t n = team.lane(); n < positives; n += team.size()) {
        const int64_t x = rank_.slot_of(row, n);
        const T w = within(k, inverse_t1, row, x);
        row.gradient[x] += share * inverse_t1 * (w - w * w);
      }
    }
    if (team.leader()) *row.value = value;
    team.sync();
    turn_to_weights(team, row);
  }

 private:
  /// sigma_t1(k - rank).
  KITH_HD T within(T k, T inverse_t1, const RowView<T>& row, int64_t x) const {
    return logistic<T>((k - 1 - row.note(Rank::kCount, x)) * inverse_t1);
  }

  /// From dL/d rank(x), which is in the gradient, to weights for the slope and
  /// to dL/ds within the class: as a column of the positives' ranks, and as the
  /// threshold of its own. Its own sigmoid is in both and cancels.
  template <class Team>
  KITH_HD void turn_to_weights(Team team, const RowView<T>& row) const {
    const T inverse_t2 = static_cast<T>(1 / params_.t2);
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      const T weight = row.gradient[x] * inverse_t2;
      row.note(Rank::kWeight, x) = weight;
      row.note(Rank::kSlope, x) *= weight;
    }
    team.sync();
    const typename RankLoss<T>::Slope slope(*this, row);
    team.apply(slope, row.similarity, row.gradient, row.size);
    team.sync();
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      if (x != row.self) {
        row.gradient[x] -= row.note(Rank::kSlope, x);
      } else if (!params_.query_in_database) {
        row.gradient[x] = 0;
      }
    }
  }

  using RankLoss<T>::rank_;
  const Params& params_;
};

}  // namespace kith::KITH_ROWS
