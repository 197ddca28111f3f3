#pragma once

#include "kith/ops/rows/row.h"

namespace kith::KITH_ROWS {

/// log sum exp of exponents that arrive one by one: the largest, and the sum of
/// e^(f - largest). Of no exponents it is Real<T>::kLowest.
template <class T, class V>
struct LogSum {
  V most;
  V sum;

  KITH_HD LogSum() : most(V{} + Real<T>::kLowest), sum(V{}) {}

  KITH_HD void add(V f) {
    const V top = max_of(most, f);
    sum = sum * exp_of<T>(V(most - top)) + exp_of<T>(V(f - top));
    most = top;
  }

  /// Several at once: one exponential each, and one for the sum so far.
  template <int n>
  KITH_HD void add(const V (&f)[n]) {
    V top = most;
    KITH_UNROLL
    for (int i = 0; i < n; ++i) top = max_of(top, f[i]);
    sum = sum * exp_of<T>(V(most - top));
    KITH_UNROLL
    for (int i = 0; i < n; ++i) sum = sum + exp_of<T>(V(f[i] - top));
    most = top;
  }

  /// Only where `used` is 1.
  KITH_HD void add(V f, V used) {
    const V counted = used > 0 ? f : V(f * 0 + Real<T>::kLowest);
    const V top = max_of(most, counted);
    sum = sum * exp_of<T>(V(most - top)) +
          (used > 0 ? exp_of<T>(V(counted - top)) : V(f * 0));
    most = top;
  }

  /// Over the lanes of a team.
  template <class Team>
  KITH_HD LogSum<T, T> gather(Team team) const {
    LogSum<T, T> all;
    all.most = team.max(most);
    all.sum = team.sum(V(sum * exp_of<T>(V(most - all.most))));
    return all;
  }
};

/// Whether it is that of no exponents. False for NaN, which is none the less a
/// sum and must not be left out.
template <class T>
KITH_HD bool is_empty(T log) {
  return log <= Real<T>::kLowest;
}

/// The value; two sums together.
template <class T>
KITH_HD T log_of(const LogSum<T, T>& sum) {
  return sum.sum == 0 ? Real<T>::kLowest : sum.most + log_of(sum.sum);
}
template <class T>
KITH_HD T log_add(T a, T b) {
  if (is_empty(a)) return b;
  if (is_empty(b)) return a;
  const T top = max_of(a, b);
  return top + log_of(exp_of<T>(a - top) + exp_of<T>(b - top));
}

/// Distance of two unit vectors from their similarity. At zero its derivative
/// counts as zero.
template <class V>
KITH_HD V distance_of(V s) {
  const V squared = 2 - 2 * s;
  return sqrt_of(squared < 0 ? V(squared * 0) : squared);
}
template <class V>
KITH_HD V inverse_distance(V s) {
  const V d = distance_of(s);
  return d > 0 ? V(1 / d) : V(d * 0);
}

/// Fields: the log sum of the negatives' exponents, and after close() its
/// weight: dL/d log sum.
///
/// Exponent has f(s), the exponent, and slope(s), its derivative.
template <class T>
struct LogSumRow {
  static constexpr int kMost = 0;
  static constexpr int kSum = 1;
  static constexpr int kLog = 0;
  static constexpr int kWeight = 1;
  static constexpr int kFields = 2;

  template <class Team>
  KITH_HD static void open(Team team, const RowView<T>& row) {
    if (team.leader()) {
      row.fields[kMost] = Real<T>::kLowest;
      row.fields[kSum] = 0;
    }
    team.sync();
  }

  /// After the tiles: puts the logarithm in place.
  template <class Team>
  KITH_HD static void settle(Team team, const RowView<T>& row) {
    if (team.leader()) {
      LogSum<T, T> sum;
      sum.most = row.fields[kMost];
      sum.sum = row.fields[kSum];
      row.fields[kLog] = log_of(sum);
    }
    team.sync();
  }

  /// The row's value and weight, of which every lane has a part.
  template <class Team>
  KITH_HD static void finish(Team team, const RowView<T>& row, double value,
                             T weight) {
    value = team.sum(value);
    weight = team.sum(weight);
    if (team.leader()) {
      *row.value = value;
      row.fields[kWeight] = weight;
    }
  }
};

template <class T, class Exponent>
class LogSumSweep {
 public:
  KITH_HD LogSumSweep(const Exponent& exponent, const RowView<T>& row)
      : exponent_(exponent), row_(row) {}

  template <int n>
  KITH_HD void absorb(const Vec<T> (&s)[n]) {
    Vec<T> f[n];
    KITH_UNROLL
    for (int i = 0; i < n; ++i) f[i] = exponent_.f(s[i]);
    sum_.add(f);
  }
  KITH_HD void absorb(Vec<T> s, Vec<T> used) { sum_.add(exponent_.f(s), used); }

  template <class Team>
  KITH_HD void store(Team team) {
    const LogSum<T, T> tile = sum_.gather(team);
    if (!team.leader()) return;
    T& most = row_.fields[LogSumRow<T>::kMost];
    T& sum = row_.fields[LogSumRow<T>::kSum];
    const T top = max_of(most, tile.most);
    sum = sum * exp_of<T>(most - top) + tile.sum * exp_of<T>(tile.most - top);
    most = top;
  }

 private:
  Exponent exponent_;
  const RowView<T>& row_;
  LogSum<T, Vec<T>> sum_;
};

template <class T, class Exponent>
class LogSumSlope {
 public:
  LogSumSlope() = default;
  KITH_HD LogSumSlope(const Exponent& exponent, const RowView<T>& row)
      : exponent_(exponent),
        log_(row.fields[LogSumRow<T>::kLog]),
        weight_(row.fields[LogSumRow<T>::kWeight]) {}

  template <int n, class V>
  KITH_HD void apply(V (&s)[n]) const {
    KITH_UNROLL
    for (int i = 0; i < n; ++i) {
      s[i] = weight_ * exponent_.slope(s[i]) *
             exp_of<T>(V(exponent_.f(s[i]) - log_));
    }
  }

 private:
  Exponent exponent_;
  T log_;
  T weight_;
};

/// What losses with one log sum over the negatives share: all but settle() and
/// close(), and sizes() if there are more fields or totals.
template <class T, class Exponent>
class LogSumLoss {
 public:
  KITH_HD RowSizes sizes() const { return {LogSumRow<T>::kFields, 0, 1, 0}; }

  template <class Team>
  KITH_HD void open(Team team, const RowView<T>& row) const {
    LogSumRow<T>::open(team, row);
  }

  struct Sweep : LogSumSweep<T, Exponent> {
    KITH_HD Sweep(const LogSumLoss& loss, const RowView<T>& row, int64_t, T*)
        : LogSumSweep<T, Exponent>(loss.exponent_, row) {}
    KITH_HD static int64_t passes(const LogSumLoss&, const RowView<T>&) {
      return 1;
    }
  };

  struct Slope : LogSumSlope<T, Exponent> {
    Slope() = default;
    KITH_HD Slope(const LogSumLoss& loss, const RowView<T>& row)
        : LogSumSlope<T, Exponent>(loss.exponent_, row) {}
  };

 protected:
  KITH_HD explicit LogSumLoss(const Exponent& exponent) : exponent_(exponent) {}

  Exponent exponent_;
};

/// f(s) = a s + b.
template <class T>
struct LinearExponent {
  T a;
  T b;

  template <class V>
  KITH_HD V f(V s) const {
    return s * a + b;
  }
  template <class V>
  KITH_HD V slope(V s) const {
    return s * 0 + a;
  }
};

/// f(s) = margin - distance.
template <class T>
struct DistanceExponent {
  T margin;

  template <class V>
  KITH_HD V f(V s) const {
    return margin - distance_of(s);
  }
  template <class V>
  KITH_HD V slope(V s) const {
    return inverse_distance(s);
  }
};

}  // namespace kith::KITH_ROWS
