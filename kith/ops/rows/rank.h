#pragma once

#include "kith/ops/rows/row.h"

namespace kith::KITH_ROWS {

/// Smooth ranks of the positives x of a row,
///
///     count(x) = sum_z sigma_t(s_z - s_x),
///
/// z over a row of a tile, for all x at once. With E(s) = 2^((s - c) k),
/// k = 1 / (t ln 2), a sigmoid is E(s_z) / (E(s_z) + E(s_x)): one exponential
/// a column and one division a pair. That is exact while all s_x lie near the
/// centre c; a row whose positives are spread too far takes an exponential a
/// pair.
///
/// Notes of slot x: (s_x - c) k; E(s_x); count(x); and the slope of the count,
/// sum_z sigma (1 - sigma). close() puts the weight of x in place of the count.
template <class T>
struct RankRow {
  static constexpr int kScaled = 0;
  static constexpr int kPower = 1;
  static constexpr int kCount = 2;
  static constexpr int kSlope = 3;
  static constexpr int kWeight = 2;
  static constexpr int kNotes = 4;
  static constexpr int kOffset = 0;  ///< The fields: -c k,
  static constexpr int kWide = 1;    ///< and 1 if the spread is too large.
  static constexpr int kFields = 2;

  /// Exponents of columns are cut off at the first, those of positives stay
  /// below the second: a sigmoid that is cut off differs from 0 or 1 by less
  /// than the precision.
  static constexpr T kMost = Real<T>::kMaxExponent - 6;
  static constexpr T kSpread = kMost - (sizeof(T) == sizeof(float) ? 24 : 53);

  T scale;         ///< k
  bool with_self;  ///< The row itself is one of its positives.

  KITH_HD RankRow(double temperature, bool self_is_positive)
      : scale(static_cast<T>(kLog2E<double> / temperature)),
        with_self(self_is_positive) {}

  /// How many slots are ranked, and the slot of the n-th of them.
  KITH_HD int64_t ranked(const RowView<T>& row) const {
    return with_self ? row.size : row.positives();
  }
  KITH_HD int64_t slot_of(const RowView<T>& row, int64_t n) const {
    return with_self || row.self < 0 || n < row.self ? n : n + 1;
  }

  /// Sets the notes of a row.
  template <class Team>
  KITH_HD void prepare(Team team, const RowView<T>& row) const {
    T low = -Real<T>::kLowest;
    T high = Real<T>::kLowest;
    for (int64_t n = team.lane(); n < ranked(row); n += team.size()) {
      low = min_of(low, row.similarity[slot_of(row, n)]);
      high = max_of(high, row.similarity[slot_of(row, n)]);
    }
    low = team.min(low);
    high = team.max(high);
    const T centre = low <= high ? (low + high) / 2 : T(0);
    const T offset = -centre * scale;
    const bool wide = (high - centre) * scale > kSpread;
    if (team.leader()) {
      row.fields[kOffset] = offset;
      row.fields[kWide] = wide ? T(1) : T(0);
    }
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      const T u = row.similarity[x] * scale + offset;
      row.note(kScaled, x) = u;
      row.note(kPower, x) = wide ? T(1) : exp2_of(cut_off<T>(u, kMost));
      row.note(kCount, x) = 0;
      row.note(kSlope, x) = 0;
    }
    team.sync();
  }
};

/// Adds a row of a tile to the counts and slopes, kAtOnce positives a pass.
template <class T>
class RankSweep {
 public:
  using V = Vec<T>;
  static constexpr int kAtOnce = 4;

  KITH_HD static int64_t passes(const RankRow<T>& loss, const RowView<T>& row) {
    return (loss.ranked(row) + kAtOnce - 1) / kAtOnce;
  }

  KITH_HD RankSweep(const RankRow<T>& loss, const RowView<T>& row, int64_t pass,
                    T* /*scratch*/)
      : loss_(loss),
        row_(row),
        begin_(pass * kAtOnce),
        active_(static_cast<int>(
            min_of<int64_t>(kAtOnce, loss.ranked(row) - begin_))),
        offset_(row.fields[RankRow<T>::kOffset]),
        wide_(row.fields[RankRow<T>::kWide] != 0) {
    const int note = wide_ ? RankRow<T>::kScaled : RankRow<T>::kPower;
    KITH_UNROLL
    for (int n = 0; n < kAtOnce; ++n) {
      own_[n] = n < active_ ? row.note(note, slot(n)) : T(0);
      count_[n] = V{};
      slope_[n] = V{};
    }
  }

  /// Takes in n similarities.
  template <int n>
  KITH_HD void absorb(const V (&s)[n]) {
    if (wide_) {
      KITH_UNROLL
      for (int i = 0; i < n; ++i) absorb_wide(s[i], V{} + 1);
      return;
    }
    V e[n];
    KITH_UNROLL
    for (int i = 0; i < n; ++i) e[i] = power(s[i]);
    // A GPU waits less for special functions where nothing branches between
    // them: so for 4 of a class, without the row itself and with it.
    if (active_ == 3) {
      add_first<3>(e);
    } else if (active_ == kAtOnce) {
      add_first<kAtOnce>(e);
    } else {
      KITH_UNROLL
      for (int m = 0; m < kAtOnce; ++m) {
        if (m < active_) add_all(m, e);
      }
    }
  }

  /// `used` is 1 where the column counts and 0 where not.
  KITH_HD void absorb(V s, V used) {
    if (wide_) {
      absorb_wide(s, used);
      return;
    }
    const V e = power(s);
    KITH_UNROLL
    for (int m = 0; m < kAtOnce; ++m) {
      if (m < active_) add(m, e * inverse(V(e + own_[m])) * used);
    }
  }

  template <class Team>
  KITH_HD void store(Team team) {
    KITH_UNROLL
    for (int n = 0; n < kAtOnce; ++n) {
      if (n >= active_) continue;
      const T count = team.sum(count_[n]);
      const T slope = team.sum(slope_[n]);
      if (team.leader()) {
        row_.note(RankRow<T>::kCount, slot(n)) += count;
        row_.note(RankRow<T>::kSlope, slot(n)) += slope;
      }
    }
  }

 private:
  KITH_HD V power(V s) const {
    return exp2_of(cut_off<T>(V(s * loss_.scale + offset_), RankRow<T>::kMost));
  }
  KITH_HD void absorb_wide(V s, V used) {
    const V u = s * loss_.scale + offset_;
    KITH_UNROLL
    for (int m = 0; m < kAtOnce; ++m) {
      if (m >= active_) continue;
      const V e = exp2_of(cut_off<T>(V(own_[m] - u), RankRow<T>::kMost));
      add(m, inverse(V(e + 1)) * used);
    }
  }

  KITH_HD int64_t slot(int n) const { return loss_.slot_of(row_, begin_ + n); }
  template <int count, int n>
  KITH_HD void add_first(const V (&e)[n]) {
    KITH_UNROLL
    for (int m = 0; m < count; ++m) add_all(m, e);
  }
  template <int n>
  KITH_HD void add_all(int m, const V (&e)[n]) {
    KITH_UNROLL
    for (int i = 0; i < n; ++i) add(m, e[i] * inverse(V(e[i] + own_[m])));
  }
  KITH_HD void add(int n, V sigma) {
    count_[n] = count_[n] + sigma;
    slope_[n] = slope_[n] + (sigma - sigma * sigma);
  }

  const RankRow<T>& loss_;
  const RowView<T>& row_;
  int64_t begin_;
  int active_;
  T offset_;
  bool wide_;
  T own_[kAtOnce];
  V count_[kAtOnce];
  V slope_[kAtOnce];
};

/// sum_x weight(x) sigma (1 - sigma)(s - s_x); 1/t is in the weights. Holds
/// copies of the first positives, and reads the others from the notes: on a GPU
/// slopes are shared by a block of threads.
template <class T>
class alignas(16) RankSlope {
 public:
  RankSlope() = default;
  KITH_HD RankSlope(const RankRow<T>& loss, const RowView<T>& row)
      : scale_(loss.scale),
        offset_(row.fields[RankRow<T>::kOffset]),
        wide_(row.fields[RankRow<T>::kWide] != 0),
        ranked_(static_cast<int>(loss.ranked(row))),
        skip_(loss.with_self || row.self < 0 ? ranked_
                                             : static_cast<int>(row.self)),
        own_(row.notes + own_note() * row.plane),
        weight_(row.notes + RankRow<T>::kWeight * row.plane) {
    for (int m = 0; m < min_of(ranked_, kCopied); ++m) copied_[m] = read(m);
  }

  /// Overwrites similarities with slopes.
  template <int n, class V>
  KITH_HD void apply(V (&s)[n]) const {
    V sum[n] = {};
    if (wide_) {
      for (int m = 0; m < ranked_; ++m) add_wide(at(m), s, sum);
    } else {
      KITH_UNROLL
      for (int i = 0; i < n; ++i) {
        s[i] =
            exp2_of(cut_off<T>(V(s[i] * scale_ + offset_), RankRow<T>::kMost));
      }
      if (ranked_ == 3) {  // as in RankSweep
        KITH_UNROLL
        for (int m = 0; m < 3; ++m) add(copied_[m], s, sum);
      } else {
        KITH_UNROLL
        for (int m = 0; m < kUnrolled; ++m) {
          if (m < ranked_) add(copied_[m], s, sum);
        }
        for (int m = kUnrolled; m < ranked_; ++m) add(at(m), s, sum);
      }
    }
    KITH_UNROLL
    for (int i = 0; i < n; ++i) s[i] = sum[i];
  }

 private:
  static constexpr int kCopied = 9;  // the positives of 4 a class with SiMix
  static constexpr int kUnrolled = 4;
  struct Positive {
    T own;     ///< E, or the exponent itself in a wide row
    T weight;  ///< times E, in a row that is not wide
  };

  KITH_HD Positive at(int m) const {
    return m < kCopied ? copied_[m] : read(m);
  }
  KITH_HD Positive read(int m) const {
    const int x = m < skip_ ? m : m + 1;
    return {own_[x], weight_[x] * (wide_ ? T(1) : own_[x])};
  }
  KITH_HD int own_note() const {
    return wide_ ? RankRow<T>::kScaled : RankRow<T>::kPower;
  }

  template <int n, class V>
  KITH_HD void add(const Positive& x, const V (&e)[n], V (&sum)[n]) const {
    KITH_UNROLL
    for (int i = 0; i < n; ++i) {
      const V r = inverse(V(e[i] + x.own));
      sum[i] = sum[i] + (e[i] * r) * (x.weight * r);
    }
  }

  template <int n, class V>
  KITH_HD void add_wide(const Positive& x, const V (&s)[n], V (&sum)[n]) const {
    KITH_UNROLL
    for (int i = 0; i < n; ++i) {
      const V d = x.own - (s[i] * scale_ + offset_);
      const V sigma = inverse(V(exp2_of(cut_off<T>(d, RankRow<T>::kMost)) + 1));
      sum[i] = sum[i] + x.weight * (sigma - sigma * sigma);
    }
  }

  T scale_;
  T offset_;
  bool wide_;
  int ranked_;
  int skip_;  ///< The slot that is not ranked.
  const T* own_;
  const T* weight_;
  Positive copied_[kCopied];
};

/// What losses on smooth ranks share: all but settle() and close().
template <class T>
class RankLoss {
 public:
  struct Sweep : RankSweep<T> {
    KITH_HD Sweep(const RankLoss& loss, const RowView<T>& row, int64_t pass,
                  T* scratch)
        : RankSweep<T>(loss.rank_, row, pass, scratch) {}
    KITH_HD static int64_t passes(const RankLoss& loss, const RowView<T>& row) {
      return RankSweep<T>::passes(loss.rank_, row);
    }
  };

  struct Slope : RankSlope<T> {
    Slope() = default;
    KITH_HD Slope(const RankLoss& loss, const RowView<T>& row)
        : RankSlope<T>(loss.rank_, row) {}
  };

 protected:
  KITH_HD RankLoss(double temperature, bool self_is_positive)
      : rank_(temperature, self_is_positive) {}

  /// Counts the columns of the class but `left_out` (-1: none); a positive's
  /// own sigmoid, 1/2, is among them.
  template <class Team>
  KITH_HD void count_class(Team team, const RowView<T>& row,
                           int64_t left_out) const {
    rank_.prepare(team, row);
    for (int64_t pass = 0; pass < Sweep::passes(*this, row); ++pass) {
      Sweep sweep(*this, row, pass, nullptr);
      team.sweep(sweep, row.similarity, row.size, left_out, left_out + 1);
      sweep.store(team);
    }
    team.sync();
  }

  RankRow<T> rank_;
};

}  // namespace kith::KITH_ROWS
