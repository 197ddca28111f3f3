#pragma once

#include "kith/ops/rows/real.h"
#include "kith/ops/rows/table.h"

namespace kith::KITH_ROWS {

/// One row of a table, as a loss sees it.
///
/// A loss is a type Row<T> with its parameters and
///
///     RowSizes sizes() const;
///     void open(team, row) const;     // before the tiles
///     class Sweep;                    // takes in a row of a tile
///     void settle(team, row) const;   // after the tiles: row.shares
///     void close(team, row) const;    // value, row.gradient, and what
///     follows: class Slope;                    // dL/ds of a row of a tile
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

/// Comparisons swallow NaN: a row that has one, or infinity, must not have a
/// value. Its similarity to itself tells.
template <class Team, class T>
KITH_HD void spoil_if_not_finite(Team team, const RowView<T>& row) {
  if (row.self < 0 || !team.leader()) return;
  const T s = row.similarity[row.self];
  if (!(s - s == 0)) *row.value = static_cast<double>(s - s);
}

}  // namespace kith::KITH_ROWS
