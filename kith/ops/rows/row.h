#pragma once

#include <concepts>
#include <type_traits>

#include "kith/ops/rows/real.h"
#include "kith/ops/rows/table.h"

namespace kith::KITH_ROWS {

/// One row of a table, as a loss sees it.
///
/// The lanes of a team share a row: `for (x = team.lane(); x < row.size; x +=
/// team.size())`, then team.sum(), max() or min(). A CPU team has one lane.
template <class T>
struct RowView {
  int64_t index;
  int64_t size;    ///< Columns of its class, itself among them if it is there.
  int64_t self;    ///< Its own slot, or -1.
  int64_t target;  ///< The slot of its one positive; -1: all are.
  const T* similarity;  ///< [size]
  T* gradient;          ///< [size]
  T* notes;             ///< [slot_fields] planes of [size], `plane` apart
  int64_t plane;
  T* fields;
  const T* class_fields;  ///< Of the first row of its class, `stride` apart.
  int64_t stride;
  double* value;
  double* shares;
  const double* totals;

  /// Positives: the columns of its class but itself.
  KITH_HD int64_t positives() const { return size - (self >= 0 ? 1 : 0); }
  /// A field of the row that is column x of this class, where rows are their
  /// own columns.
  KITH_HD T field_of(int64_t x, int field) const {
    return class_fields[x * stride + field];
  }
  KITH_HD T& note(int field, int64_t x) const {
    return notes[field * plane + x];
  }
};

template <class T>
KITH_HD RowView<T> view_row(const RowTable<T>& table, const RowSizes& sizes,
                            int64_t i) {
  const int64_t first = table.first[i];
  const int64_t slot = table.slot[i];
  RowView<T> row;
  row.index = i;
  row.size = table.last[i] - first;
  const int64_t self = table.self == nullptr ? i : table.self[i];
  row.self = self < 0 ? -1 : self - first;
  row.target = table.target == nullptr ? -1 : table.target[i] - first;
  row.similarity = table.similarity + slot;
  row.gradient = table.gradient + slot;
  row.notes = table.notes + slot;
  row.plane = table.slots;
  row.fields = table.fields + i * sizes.fields;
  row.class_fields = table.fields + first * sizes.fields;
  row.stride = sizes.fields;
  row.value = table.value + i;
  row.shares = table.shares + i * sizes.totals;
  row.totals = table.totals;
  return row;
}

/// What a loss is to the engine: a class Loss = Row<T> in kith/losses/rows with
/// its parameters and the steps below, in this order. A team of threads takes
/// them together; V is Vec<T>.
template <class Loss, class T, class Team>
concept RowFunction = requires(const Loss loss,
                               const typename Loss::Params params, Team team,
                               const RowView<T> row, typename Loss::Sweep sweep,
                               const typename Loss::Slope slope,
                               const Vec<T> (&some)[4], Vec<T> (&changed)[4],
                               Vec<T> used) {
  requires std::is_constructible_v<Loss, decltype(params)&>;
  // How many numbers it keeps.
  { loss.sizes() } -> std::same_as<RowSizes>;
  // Before the tiles: what the similarities within the class say.
  { loss.open(team, row) } -> std::same_as<void>;
  // Takes in a row of a tile, as often as passes() says: absorb() of several
  // columns at a time, or of some with zeros in `used` for those to pass over;
  // then store().
  { Loss::Sweep::passes(loss, row) } -> std::same_as<int64_t>;
  requires std::is_constructible_v<typename Loss::Sweep, decltype(loss)&,
                                   decltype(row)&, int64_t, T*>;
  { sweep.absorb(some) } -> std::same_as<void>;
  { sweep.absorb(used, used) } -> std::same_as<void>;
  { sweep.store(team) } -> std::same_as<void>;
  // After the tiles: row.shares.
  { loss.settle(team, row) } -> std::same_as<void>;
  // With row.totals: row.value, row.gradient, and what Slope reads.
  { loss.close(team, row) } -> std::same_as<void>;
  // Overwrites similarities of a row of a tile with dL/ds. On a GPU it is
  // copied to shared memory.
  requires std::is_constructible_v<typename Loss::Slope, decltype(loss)&,
                                   decltype(row)&>;
  requires std::is_default_constructible_v<typename Loss::Slope>;
  { slope.apply(changed) } -> std::same_as<void>;
  requires std::is_trivially_copyable_v<typename Loss::Slope>;
};

/// Comparisons swallow NaN: a row that has one, or infinity, must not have a
/// value. Its similarity to itself tells.
template <class Team, class T>
KITH_HD void spoil_if_not_finite(Team team, const RowView<T>& row) {
  if (row.self < 0 || !team.leader()) return;
  const T s = row.similarity[row.self];
  if (!(s - s == 0)) *row.value = static_cast<double>(s - s);
}

}  // namespace kith::KITH_ROWS
