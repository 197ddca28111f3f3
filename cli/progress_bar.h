#pragma once

#include <chrono>
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
  std::string note;
};

/// "0:05", "1:23", "2:03:04"; "?" for what is no duration (negative, NaN, inf).
std::string format_duration(double seconds);

/// "35.2/s", "1.2k/s", "2.4/min"; "" when the rate is not positive or absurd.
std::string format_rate(double per_second);

/// One line of at most `width` columns, without a line end. Every field is
/// dropped or shortened before the line would grow too long; control
/// characters become spaces. With `utf8` false the result is ASCII only.
std::string render_bar(const BarState& state, int width, bool utf8);

/// The one line that stays after the work: what, count, time, rate, last note.
/// Same rules as render_bar.
std::string render_summary(const BarState& state, int width, bool utf8);

/// True when the environment (LC_ALL, LC_CTYPE, LANG) asks for UTF-8.
bool locale_is_utf8();

/// A progress bar on a terminal. It redraws itself in place, at most ten times
/// a second, erases itself on finish() and leaves a summary line. Silent when
/// the descriptor is not a terminal or TERM is "dumb". A bar destroyed before
/// finish() (an exception passes) is erased without a summary.
class ProgressBar final : public Progress {
 public:
  /// `fd` stays the caller's; the default is stderr.
  explicit ProgressBar(int fd = 2);
  ~ProgressBar() override;
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void start(const std::string& what, int64_t total) override;
  void advance(int64_t done, const std::string& note) override;
  void finish() override;

  /// Takes the bar off the screen so that a line can be printed; the next
  /// advance() draws it again.
  void erase();

 private:
  using Clock = std::chrono::steady_clock;

  void update_rate(Clock::time_point now);
  void draw();

  int fd_;
  bool enabled_;
  bool utf8_;
  bool active_ = false;
  BarState state_;
  Clock::time_point start_time_;
  Clock::time_point last_draw_;
  int64_t rate_done_ = 0;  // state_.done at last_draw_
  // Items and seconds of the recent past, both fading at the same pace.
  double recent_items_ = 0.0;
  double recent_seconds_ = 0.0;
};

}  // namespace kith
