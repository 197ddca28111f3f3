#pragma once

#include <string>
#include <vector>

namespace kith {

/// The range of a chart's axis, with ticks at round multiples of `step`
/// (1, 2 or 5 times a power of ten).
struct Axis {
  double lo = 0.0;
  double hi = 1.0;
  double step = 0.2;
  bool log = false;  ///< Then 0 < lo, and ticks are powers of ten.
  std::vector<double> marks =
      {};  ///< Ticks instead, such as the values measured.

  /// The multiples of step within [lo, hi]. On a logarithmic axis powers of
  /// ten, with their double and fivefold if it spans fewer than three.
  std::vector<double> ticks() const;

  /// A tick's text: as many decimals as the step needs, thousands separated.
  std::string label(double tick) const;

  /// Where `value` lies: 0 at lo, 1 at hi. NaN on a logarithmic axis unless it
  /// is positive.
  double position(double value) const;
};

/// Whether a chart can show the number: finite, and so far from the largest
/// double that differences are finite too.
bool plottable(double value);

/// Whether half the width of an interval can be drawn, and is there at all.
bool is_interval(double half);

/// An axis for values in [lo, hi], both plottable, with about `ticks` ticks;
/// `round_out` moves the ends to ticks. A range that is empty (lo > hi) becomes
/// [0, 1]; one without extent (a constant) reaches from zero to a little
/// beyond the constant.
Axis make_axis(double lo, double hi, int ticks, bool round_out);

/// A logarithmic axis for values in [lo, hi], both plottable and positive. An
/// empty range becomes [1, 10]; a constant lies in the middle of its axis.
Axis make_log_axis(double lo, double hi);

/// A number as short as it can be said with six digits: "0.1", "4,096".
std::string short_number(double value);

}  // namespace kith
