#pragma once

#include "kith/ops/rows/log_sum.h"

namespace kith {

struct TripletAllParams {
  double margin = 0.05;
  bool active_only = true;
};

}  // namespace kith

namespace kith::KITH_ROWS {

/// See kith/losses/triplet_all.h. A negative costs something for each
/// positive p that it is nearer than: d_an < bound(p) = d_ap + margin. The
/// total is the number of triplets that the mean goes over.
template <class T>
class TripletAllRow {
 public:
  using Params = TripletAllParams;
  static constexpr int kBound = 0;   ///< Notes of slot p: bound(p),
  static constexpr int kActive = 1;  ///< and how many negatives are within it.
  static constexpr int kNotes = 2;
  static constexpr int kSum = 0;   ///< Fields: of the terms,
  static constexpr int kAll = 1;   ///< and the number of negatives;
  static constexpr int kPart = 0;  ///< after close(): 1 / the total.
  static constexpr int kFields = 2;

  KITH_HD explicit TripletAllRow(const Params& params)
      : margin_(static_cast<T>(params.margin)),
        active_only_(params.active_only) {}

  KITH_HD RowSizes sizes() const { return {kFields, kNotes, 1, 0}; }

  template <class Team>
  KITH_HD void open(Team team, const RowView<T>& row) const {
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      row.note(kBound, x) = distance_of(row.similarity[x]) + margin_;
      row.note(kActive, x) = 0;
    }
    if (team.leader()) row.fields[kSum] = row.fields[kAll] = 0;
    team.sync();
  }

  /// The slot of the n-th positive.
  KITH_HD static int64_t slot_of(const RowView<T>& row, int64_t n) {
    return row.self < 0 || n < row.self ? n : n + 1;
  }

  /// kAtOnce positives a pass.
  class Sweep {
   public:
    using V = Vec<T>;
    static constexpr int kAtOnce = 4;

    KITH_HD static int64_t passes(const TripletAllRow&, const RowView<T>& row) {
      return (row.positives() + kAtOnce - 1) / kAtOnce;
    }

    KITH_HD Sweep(const TripletAllRow&, const RowView<T>& row, int64_t pass, T*)
        : row_(row),
          begin_(pass * kAtOnce),
          used_(static_cast<int>(
              min_of<int64_t>(kAtOnce, row.positives() - begin_))),
          sum_(V{}),
          all_(V{}) {
      KITH_UNROLL
      for (int m = 0; m < kAtOnce; ++m) {
        bound_[m] = m < used_ ? row.note(kBound, slot(m)) : T(0);
        active_[m] = V{};
      }
    }

    template <int n>
    KITH_HD void absorb(const V (&s)[n]) {
      KITH_UNROLL
      for (int i = 0; i < n; ++i) absorb(s[i], V{} + 1);
    }
    KITH_HD void absorb(V s, V used) {
      const V d = distance_of(s);
      all_ = all_ + used;
      KITH_UNROLL
      for (int m = 0; m < kAtOnce; ++m) {
        if (m >= used_) continue;
        const V term = bound_[m] - d;
        const V counts = term > 0 ? used : V(used * 0);
        sum_ = sum_ + term * counts;
        active_[m] = active_[m] + counts;
      }
    }

    template <class Team>
    KITH_HD void store(Team team) {
      const T sum = team.sum(sum_);
      const T all = team.sum(all_);
      if (team.leader()) row_.fields[kSum] += sum;
      if (team.leader() && begin_ == 0) row_.fields[kAll] += all;
      KITH_UNROLL
      for (int m = 0; m < kAtOnce; ++m) {
        if (m >= used_) continue;
        const T active = team.sum(active_[m]);
        if (team.leader()) row_.note(kActive, slot(m)) += active;
      }
    }

   private:
    KITH_HD int64_t slot(int m) const { return slot_of(row_, begin_ + m); }

    const RowView<T>& row_;
    int64_t begin_;
    int used_;
    T bound_[kAtOnce];
    V sum_, all_, active_[kAtOnce];
  };

  /// part / d times the number of positives whose bound the negative is
  /// within. Holds copies of the first bounds, and reads the others from the
  /// notes: on a GPU slopes are shared by a block of threads.
  class alignas(16) Slope {
   public:
    Slope() = default;
    KITH_HD Slope(const TripletAllRow&, const RowView<T>& row)
        : part_(row.fields[kPart]),
          positives_(static_cast<int>(row.positives())),
          skip_(row.self < 0 ? positives_ : static_cast<int>(row.self)),
          bounds_(row.notes + kBound * row.plane) {
      for (int m = 0; m < min_of(positives_, kCopied); ++m) {
        copied_[m] = read(m);
      }
    }

    template <int n, class V>
    KITH_HD void apply(V (&s)[n]) const {
      V count[n] = {};
      V d[n];
      KITH_UNROLL
      for (int i = 0; i < n; ++i) d[i] = distance_of(s[i]);
      for (int m = 0; m < positives_; ++m) {
        const T bound = m < kCopied ? copied_[m] : read(m);
        KITH_UNROLL
        for (int i = 0; i < n; ++i) {
          count[i] = count[i] + (d[i] < bound ? V(d[i] * 0 + 1) : V(d[i] * 0));
        }
      }
      KITH_UNROLL
      for (int i = 0; i < n; ++i) {
        s[i] = count[i] * part_ * (d[i] > 0 ? V(1 / d[i]) : V(d[i] * 0));
      }
    }

   private:
    static constexpr int kCopied = 9;  // the positives of 4 a class with SiMix

    KITH_HD T read(int m) const { return bounds_[m < skip_ ? m : m + 1]; }

    T part_;
    int positives_;
    int skip_;  ///< The slot that is not a positive.
    const T* bounds_;
    T copied_[kCopied];
  };

  template <class Team>
  KITH_HD void settle(Team team, const RowView<T>& row) const {
    double active = 0;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      active += row.note(kActive, x);
    }
    active = team.sum(active);
    if (!team.leader()) return;
    const double all = static_cast<double>(row.positives()) *
                       static_cast<double>(row.fields[kAll]);
    row.shares[0] = active_only_ ? active : all;
  }

  template <class Team>
  KITH_HD void close(Team team, const RowView<T>& row) const {
    const double part = row.totals[0] > 0 ? 1 / row.totals[0] : 0;
    for (int64_t x = team.lane(); x < row.size; x += team.size()) {
      row.gradient[x] = -static_cast<T>(part) * row.note(kActive, x) *
                        inverse_distance(row.similarity[x]);
    }
    if (!team.leader()) return;
    *row.value = part * static_cast<double>(row.fields[kSum]);
    row.fields[kPart] = static_cast<T>(part);
  }

 private:
  T margin_;
  bool active_only_;
};

}  // namespace kith::KITH_ROWS
