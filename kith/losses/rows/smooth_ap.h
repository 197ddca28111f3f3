#pragma once

#include "kith/ops/rows/rank.h"

namespace kith {

struct SmoothApParams {
  double temperature = 0.01;
  bool query_in_database = false;
};

}  // namespace kith

namespace kith::KITH_ROWS {

/// See kith/losses/smooth_ap.cpp. The rank of x among the positives is known
/// before the tiles, so only the negatives above x are counted in them.
template <class T>
class SmoothApRow {
 public:
  using Params = SmoothApParams;
  using Rank = RankRow<T>;
  static constexpr int kAmongPositives = Rank::kNotes;
  static constexpr int kPositiveSlope = Rank::kNotes + 1;

  KITH_HD explicit SmoothApRow(const Params& params)
      : temperature_(params.temperature),
        rank_(params.temperature, params.query_in_database) {}

  KITH_HD RowSizes sizes() const {
    return {Rank::kFields, Rank::kNotes + 2, 1, 0};
  }

  template <class Team>
  KITH_HD void open(Team team, const RowView<T>& row) const {
    rank_.prepare(team, row);
    for (int64_t pass = 0; pass < Sweep::passes(*this, row); ++pass) {
      Sweep sweep(*this, row, pass, nullptr);
      const int64_t gap = rank_.with_self ? -1 : row.self;
      team.sweep(sweep, row.similarity, row.size, gap, gap + 1);
      sweep.store(team);
    }
    team.sync();
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      // The rank, less its own sigmoid.
      row.note(kAmongPositives, x) = row.note(Rank::kCount, x) + T(0.5);
      row.note(kPositiveSlope, x) = row.note(Rank::kSlope, x);
      row.note(Rank::kCount, x) = 0;
      row.note(Rank::kSlope, x) = 0;
    }
  }

  struct Sweep : RankSweep<T> {
    KITH_HD Sweep(const SmoothApRow& loss, const RowView<T>& row, int64_t pass,
                  T* scratch)
        : RankSweep<T>(loss.rank_, row, pass, scratch) {}
    KITH_HD static int64_t passes(const SmoothApRow& loss,
                                  const RowView<T>& row) {
      return RankSweep<T>::passes(loss.rank_, row);
    }
  };

  struct Slope : RankSlope<T> {
    Slope() = default;
    KITH_HD Slope(const SmoothApRow& loss, const RowView<T>& row)
        : RankSlope<T>(loss.rank_, row) {}
  };

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
    const Slope slope(*this, row);  // as a column of the positives' ranks
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
  double temperature_;
  Rank rank_;
};

}  // namespace kith::KITH_ROWS
