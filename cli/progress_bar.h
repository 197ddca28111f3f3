#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/progress_line.h"
#include "kith/core/progress.h"

namespace kith {

/// True when the environment (LC_ALL, LC_CTYPE, LANG) asks for UTF-8.
bool locale_is_utf8();

/// "13:07:59 ", the time of day before a line of the log.
std::string clock_text();

/// How far work is, on a terminal or in a log.
///
/// On a terminal a bar that redraws itself in place, at most ten times a second
/// and in the width that the window has then. finish() erases it and leaves a
/// summary line. A bar destroyed before that (an exception passes) is erased
/// without a summary.
///
/// Elsewhere, and where TERM is "dumb", lines with the time of day: one at the
/// end of every piece of longer work (an epoch), but none within `between` of
/// the one before it; the first and the last piece always have theirs. Within a
/// piece, and in other work, there is one whenever none was written for
/// `alive`, so that short work is silent.
class ProgressBar final : public Progress {
 public:
  struct LogPace {
    std::chrono::milliseconds between{5'000};
    std::chrono::milliseconds alive{60'000};
  };

  /// `fd` stays the caller's; the default is stderr.
  explicit ProgressBar(int fd = 2) : ProgressBar(fd, LogPace()) {}
  ProgressBar(int fd, LogPace pace);
  ~ProgressBar() override;
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void start(const std::string& what, int64_t total) override;
  void advance(int64_t done, const std::string& note) override;
  void finish() override;
  void set_pace(const Pace& pace) override;

  /// Writes nothing any more.
  void mute();

  /// Takes the bar off the screen so that a line can be printed; the next
  /// advance() draws it again.
  void erase();

 private:
  using Clock = std::chrono::steady_clock;

  void update_rate(Clock::time_point now);
  void draw();
  void write_line(Clock::time_point now);
  void end_piece(Clock::time_point now);

  int fd_;
  bool is_live_;  // a terminal; else lines
  bool utf8_;
  LogPace log_pace_;
  bool active_ = false;
  BarState state_;
  Clock::time_point start_time_;
  Clock::time_point last_update_;
  std::optional<Clock::time_point> last_line_;
  bool has_line_ = false;  // since start()
  int64_t rate_done_ = 0;  // state_.done at last_update_
  // Items and seconds of the recent past, both fading at the same pace.
  double recent_items_ = 0.0;
  double recent_seconds_ = 0.0;
  // Of longer work: what is left of it after its last piece, when that ended,
  // and the seconds between its pieces so far.
  int64_t left_after_ = -1;
  Clock::time_point piece_end_;
  double paused_ = 0.0;
  int64_t items_ = 0;
};

}  // namespace kith
