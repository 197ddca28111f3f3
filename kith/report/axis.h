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

  /// The multiples of step within [lo, hi].
  std::vector<double> ticks() const;

  /// A tick's text: as many decimals as the step needs, thousands separated.
  std::string label(double tick) const;

  /// Where `value` lies: 0 at lo, 1 at hi.
  double position(double value) const { return (value - lo) / (hi - lo); }
};

/// Whether a chart can show the number: finite, and so far from the largest
/// double that differences are finite too.
bool plottable(double value);

/// An axis for values in [lo, hi], both plottable, with about `ticks` ticks;
/// `round_out` moves the ends to ticks. A range that is empty (lo > hi) becomes
/// [0, 1]; one without extent (a constant) reaches from zero to a little
/// beyond the constant.
Axis make_axis(double lo, double hi, int ticks, bool round_out);

}  // namespace kith
