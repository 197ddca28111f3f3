#pragma once

#include <cstdint>
#include <string>

#include "kith/core/progress.h"

namespace kith {

/// What one picture of the bar is made from.
struct BarState {
  std::string what;
  int64_t done = 0;
  int64_t total = 0;     ///< <= 0: unknown; then no percentage and no bar.
  double elapsed = 0.0;  ///< Seconds since the start.
  double rate = 0.0;     ///< Items per second; <= 0: not known yet.
  std::string note = {};
  Progress::Pace pace = {};  ///< Of a piece of longer work, if it has a unit.
  double pause = 0.0;  ///< Seconds for an item that passed between pieces.
};

/// "0:05", "1:23", "2:03:04"; "?" for what is no duration (negative, NaN, inf).
std::string format_duration(double seconds);

/// "35.2/s", "1.2k/s", "2.4/min"; "" when the rate is not positive or absurd.
/// With a unit "1.2k images/s".
std::string format_rate(double per_second, const std::string& unit = "");

/// One line of at most `width` columns, without a line end. Every field is
/// dropped or shortened before the line would grow too long; control
/// characters become spaces. With `utf8` false the result is ASCII only.
///
/// A piece of longer work has its notes (with two spaces between them) before
/// speed and time: "epoch 3/20 [##  ]  5/17  loss 0.2310  lr 1.0e-04  1.2k
/// images/s  1:23 left". Notes but the first, speed and time give way to the
/// bar, in this order.
std::string render_bar(const BarState& state, int width, bool utf8);

/// The line of a log: everything there is to say, without a bar. `what` and
/// `note` must be printable.
std::string render_log_line(const BarState& state);

/// The one line that stays after the work: what, count, time, rate, last note.
/// Same rules as render_bar.
std::string render_summary(const BarState& state, int width, bool utf8);

}  // namespace kith
