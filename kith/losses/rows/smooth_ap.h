#pragma once

#include "kith/ops/rows/rank.h"

namespace kith {

struct SmoothApParams {
  double temperature = 0.01;
  bool query_in_database = false;
};

}  // namespace kith

namespace kith::KITH_ROWS {

/// See kith/losses/smooth_ap.h. The rank of x among the positives is known
/// before the tiles, so only the negatives above x are counted in them.
template <class T>
class SmoothApRow : public RankLoss<T> {
 public:
  using Params = SmoothApParams;
  using Rank = RankRow<T>;
  static constexpr int kAmongPositives = Rank::kNotes;
  static constexpr int kPositiveSlope = Rank::kNotes + 1;

  KITH_HD explicit SmoothApRow(const Params& params)
      : RankLoss<T>(params.temperature, params.query_in_database),
        temperature_(params.temperature) {}

  KITH_HD RowSizes sizes() const {
    return {Rank::kFields, Rank::kNotes + 2, 1, 0};
  }

  template <class Team>
  KITH_HD void open(Team team, const RowView<T>& row) const {
    this->count_class(team, row, rank_.with_self ? -1 : row.self);
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      // The rank, less its own sigmoid.
      row.note(kAmongPositives, x) = row.note(Rank::kCount, x) + T(0.5);
      row.note(kPositiveSlope, x) = row.note(Rank::kSlope, x);
      row.note(Rank::kCount, x) = 0;
      row.note(Rank::kSlope, x) = 0;
    }
  }

  /// The total: queries with a positive.
  template <class Team>
  KITH_HD void settle(Team team, const RowView<T>& row) const {
    if (team.leader()) row.shares[0] = row.positives() > 0 ? 1 : 0;
  }

  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    const bool used = row.positives() > 0;
    const double share = used ? 1 / row.totals[0] : 0;
    const double part = share / static_cast<double>(rank_.ranked(row));
    double value = 0;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      const double positives = row.note(kAmongPositives, x);
      const double negatives = row.note(Rank::kCount, x);
      const double all = positives + negatives;
      const bool ranked = used && (rank_.with_self || x != row.self);
      if (ranked) value += part * positives / all;
      const double unit = ranked ? part / (all * all * temperature_) : 0;
      const T among = static_cast<T>(-unit * negatives);
      const T above = static_cast<T>(unit * positives);
      // As the threshold of its own ranks.
      row.note(Rank::kSlope, x) = among * row.note(kPositiveSlope, x) +
                                  above * row.note(Rank::kSlope, x);
      row.note(Rank::kWeight, x) = among;
      row.note(kAmongPositives, x) = above;
    }
    value = team.sum(value);
    if (team.leader()) *row.value = share - value;
    team.sync();
    const typename RankLoss<T>::Slope slope(
        *this, row);  // as a column of the positives' ranks
    team.apply(slope, row.similarity, row.gradient, row.size);
    team.sync();
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      const bool ranked = rank_.with_self || x != row.self;
      row.gradient[x] =
          ranked ? row.gradient[x] - row.note(Rank::kSlope, x) : T(0);
      row.note(Rank::kWeight, x) = row.note(kAmongPositives, x);
    }
  }

 private:
  using RankLoss<T>::rank_;
  double temperature_;
};

}  // namespace kith::KITH_ROWS
