#pragma once

#include "kith/ops/rows/log_sum.h"

namespace kith {

struct ContrastiveParams {
  double pos_margin = 0;
  double neg_margin = 1;
  bool active_only = true;
};

}  // namespace kith

namespace kith::KITH_ROWS {

/// See kith/losses/contrastive.h. The totals are the numbers of positive
/// and of negative pairs that the means go over.
template <class T>
class ContrastiveRow {
 public:
  using Params = ContrastiveParams;
  static constexpr int kSum = 0;     ///< of the negatives' terms
  static constexpr int kActive = 1;  ///< negatives with a term above zero
  static constexpr int kAll = 2;     ///< negatives
  static constexpr int kPart = 0;    ///< after close(): 1 / their number

  KITH_HD explicit ContrastiveRow(const Params& params)
      : pos_margin_(static_cast<T>(params.pos_margin)),
        neg_margin_(static_cast<T>(params.neg_margin)),
        active_only_(params.active_only) {}

  KITH_HD RowSizes sizes() const { return {3, 0, 2, 0}; }

  template <class Team>
  KITH_HD void open(Team team, const RowView<T>& row) const {
    if (team.leader()) row.fields[kSum] = row.fields[kActive] = 0;
    if (team.leader()) row.fields[kAll] = 0;
    team.sync();
  }

  class Sweep {
   public:
    KITH_HD Sweep(const ContrastiveRow& loss, const RowView<T>& row, int64_t,
                  T*)
        : row_(row),
          margin_(loss.neg_margin_),
          sum_(Vec<T>{}),
          active_(Vec<T>{}),
          all_(Vec<T>{}) {}
    KITH_HD static int64_t passes(const ContrastiveRow&, const RowView<T>&) {
      return 1;
    }

    template <int n>
    KITH_HD void absorb(const Vec<T> (&s)[n]) {
      for (int i = 0; i < n; ++i) absorb(s[i], Vec<T>{} + 1);
    }
    KITH_HD void absorb(Vec<T> s, Vec<T> used) {
      const Vec<T> term = margin_ - distance_of(s);
      const Vec<T> counts = term > 0 ? used : Vec<T>(used * 0);
      sum_ = sum_ + term * counts;
      active_ = active_ + counts;
      all_ = all_ + used;
    }

    template <class Team>
    KITH_HD void store(Team team) {
      const T sum = team.sum(sum_);
      const T active = team.sum(active_);
      const T all = team.sum(all_);
      if (!team.leader()) return;
      row_.fields[kSum] += sum;
      row_.fields[kActive] += active;
      row_.fields[kAll] += all;
    }

   private:
    const RowView<T>& row_;
    T margin_;
    Vec<T> sum_, active_, all_;
  };

  class Slope {
   public:
    Slope() = default;
    KITH_HD Slope(const ContrastiveRow& loss, const RowView<T>& row)
        : margin_(loss.neg_margin_), part_(row.fields[kPart]) {}

    template <int n, class V>
    KITH_HD void apply(V (&s)[n]) const {
      KITH_UNROLL
      for (int i = 0; i < n; ++i) {
        const V active =
            distance_of(s[i]) < margin_ ? V(s[i] * 0 + part_) : V(s[i] * 0);
        s[i] = active * inverse_distance(s[i]);
      }
    }

   private:
    T margin_;
    T part_;
  };

  template <class Team>
  KITH_HD void settle(Team team, const RowView<T>& row) const {
    double active = 0;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      if (x != row.self && (!active_only_ || term(row, x) > 0)) active += 1;
    }
    active = team.sum(active);
    if (team.leader()) {
      row.shares[0] = active;
      row.shares[1] = row.fields[active_only_ ? kActive : kAll];
    }
  }

  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    const double positive = row.totals[0] > 0 ? 1 / row.totals[0] : 0;
    const double negative = row.totals[1] > 0 ? 1 / row.totals[1] : 0;
    double value = 0;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      const bool active = x != row.self && term(row, x) > 0;
      if (active) value += positive * term(row, x);
      row.gradient[x] = active ? -static_cast<T>(positive) *
                                     inverse_distance(row.similarity[x])
                               : T(0);
    }
    value = team.sum(value);
    if (team.leader()) {
      *row.value = value + negative * row.fields[kSum];
      row.fields[kPart] = static_cast<T>(negative);
    }
  }

 private:
  KITH_HD T term(const RowView<T>& row, int64_t x) const {
    return distance_of(row.similarity[x]) - pos_margin_;
  }

  T pos_margin_;
  T neg_margin_;
  bool active_only_;
};

}  // namespace kith::KITH_ROWS
