#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/progress_line.h"
#include "kith/core/progress.h"

namespace kith {

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
  void set_pace(const Pace& pace) override;

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
