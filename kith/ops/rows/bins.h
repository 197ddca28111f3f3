#pragma once

#include "kith/ops/rows/row.h"

namespace kith::KITH_ROWS {

/// Soft histograms of similarities: `count` centres from s = 1 down to s = -1,
/// each number shared by its two neighbours with triangular weights.
///
/// Fields: [0, count) the negatives' bins, [count, 2 count) the positives'. At
/// the end of close() they hold dL/ds between centres l and l + 1.
template <class T>
struct BinRow {
  int count;
  T per_unit;  ///< Bins a unit of similarity.

  BinRow() = default;
  KITH_HD explicit BinRow(int centres)
      : count(centres), per_unit(static_cast<T>(centres - 1) / 2) {}

  KITH_HD int64_t fields() const { return int64_t{2} * count; }

  /// Where a similarity lies between the centres, in [0, count - 1].
  template <class V>
  KITH_HD V place(V s) const {
    const V u = (1 - s) * per_unit;
    const V low = u < 0 ? V(u * 0) : u;
    const T most = static_cast<T>(count - 1);
    return low > most ? V(low * 0 + most) : low;
  }

  /// The interval of a place, such that its upper centre exists too.
  KITH_HD int interval(T place) const {
    // False for NaN, which has no integer.
    return place > 0 ? min_of(static_cast<int>(place), count - 2) : 0;
  }

  /// Clears the negatives' bins and fills the positives'.
  template <class Team>
  KITH_HD void open(Team team, const RowView<T>& row) const {
    for (int64_t b = team.lane(); b < count; b += team.size()) {
      T sum = 0;
      for (int64_t x = 0; x < row.size; ++x) {
        if (x == row.self) continue;
        const T away = place(row.similarity[x]) - static_cast<T>(b);
        const T weight = 1 - (away < 0 ? -away : away);
        sum += weight > 0 ? weight : T(0);
      }
      row.fields[b] = 0;
      row.fields[count + b] = sum;
    }
    team.sync();
  }

  /// From dL/d bin, in the fields, to dL/ds within the intervals, and from the
  /// positives' to the gradient within the class.
  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    if (team.leader()) {
      for (int b = 0; b < 2 * count; ++b) {
        const bool last = b % count == count - 1;
        row.fields[b] =
            last ? T(0) : (row.fields[b] - row.fields[b + 1]) * per_unit;
      }
    }
    team.sync();
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      const T s = row.similarity[x];
      const bool counts = x != row.self && inside(s);
      row.gradient[x] = counts ? row.fields[count + interval(place(s))] : T(0);
    }
  }

  /// Beyond the last centres nothing changes.
  KITH_HD bool inside(T s) const { return s <= 1 && s >= -1; }
};

/// Adds a row of a tile to the negatives' bins: two bins a column.
template <class T>
class BinSweep {
 public:
  KITH_HD BinSweep(const BinRow<T>& bins, const RowView<T>& row, T* scratch)
      : bins_(bins), row_(row), scratch_(scratch) {
    for (int b = 0; b < bins_.count; ++b) cell(b) = 0;
  }

  template <int n>
  KITH_HD void absorb(const Vec<T> (&s)[n]) {
    for (int i = 0; i < n; ++i) absorb(s[i], Vec<T>{} + 1);
  }
  KITH_HD void absorb(Vec<T> s, Vec<T> used) {
    const Vec<T> u = bins_.place(s);
#if defined(__CUDACC__)
    add(u, used);
#else
    for (int i = 0; i < kWidth<T>; ++i) add(u[i], used[i]);
#endif
  }

  template <class Team>
  KITH_HD void store(Team team) {
    for (int b = 0; b < bins_.count; ++b) {
      const T sum = team.sum(cell(b));
      if (team.leader()) row_.fields[b] += sum;
    }
  }

 private:
  /// Lanes of a warp have their own cells, side by side.
  KITH_HD T& cell(int b) {
#if defined(__CUDACC__)
    return scratch_[b * 32];
#else
    return scratch_[b];
#endif
  }
  KITH_HD void add(T u, T used) {
    const int l = bins_.interval(u);
    const T upper = (u - static_cast<T>(l)) * used;
    cell(l) += used - upper;
    cell(l + 1) += upper;
  }

  const BinRow<T>& bins_;
  const RowView<T>& row_;
  T* scratch_;
};

/// dL/ds of the negatives, from the fields.
template <class T>
class BinSlope {
 public:
  BinSlope() = default;
  KITH_HD BinSlope(const BinRow<T>& bins, const RowView<T>& row)
      : bins_(bins), slopes_(row.fields) {}

  template <int n, class V>
  KITH_HD void apply(V (&s)[n]) const {
    KITH_UNROLL
    for (int i = 0; i < n; ++i) {
#if defined(__CUDACC__)
      s[i] = at(s[i]);
#else
      V slopes = {};
      for (int k = 0; k < kWidth<T>; ++k) slopes[k] = at(s[i][k]);
      s[i] = slopes;
#endif
    }
  }

 private:
  KITH_HD T at(T s) const {
    return bins_.inside(s) ? slopes_[bins_.interval(bins_.place(s))] : T(0);
  }

  BinRow<T> bins_;
  const T* slopes_;
};

/// What losses on soft histograms share: all but settle() and close().
template <class T>
class BinLoss {
 public:
  template <class Team>
  KITH_HD void open(Team team, const RowView<T>& row) const {
    bins_.open(team, row);
  }

  struct Sweep : BinSweep<T> {
    KITH_HD Sweep(const BinLoss& loss, const RowView<T>& row, int64_t,
                  T* scratch)
        : BinSweep<T>(loss.bins_, row, scratch) {}
    KITH_HD static int64_t passes(const BinLoss&, const RowView<T>&) {
      return 1;
    }
  };

  struct Slope : BinSlope<T> {
    Slope() = default;
    KITH_HD Slope(const BinLoss& loss, const RowView<T>& row)
        : BinSlope<T>(loss.bins_, row) {}
  };

 protected:
  KITH_HD explicit BinLoss(int centres) : bins_(centres) {}

  BinRow<T> bins_;
};

}  // namespace kith::KITH_ROWS
