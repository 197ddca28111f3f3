#include "cli/progress_bar.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include "kith/core/quote.h"

namespace kith {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval{100};
constexpr double kRateMemorySeconds = 10.0;

int terminal_columns(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

// Best effort: nothing useful can be done when the terminal is gone.
void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

bool is_live_terminal(int fd) {
  const char* term = std::getenv("TERM");
  return isatty(fd) == 1 && !(term && std::string_view(term) == "dumb");
}

}  // namespace

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string lower(value);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    return lower.find("utf-8") != std::string::npos ||
           lower.find("utf8") != std::string::npos;
  }
  return false;
}

std::string clock_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char clock[16];
  std::strftime(clock, sizeof(clock), "%H:%M:%S ", &local);
  return clock;
}

ProgressBar::ProgressBar(int fd, LogPace pace)
    : fd_(fd),
      is_live_(is_live_terminal(fd)),
      utf8_(locale_is_utf8()),
      log_pace_(pace) {}

ProgressBar::~ProgressBar() { erase(); }

void ProgressBar::mute() {
  erase();
  fd_ = -1;  // to which writing fails
  is_live_ = false;
}

void ProgressBar::erase() {
  if (active_ && is_live_) write_all(fd_, "\r\x1b[K");
}

void ProgressBar::start(const std::string& what, int64_t total) {
  if (active_) finish();
  active_ = true;
  state_ = BarState{};
  state_.what = printable(what);
  state_.total = total;
  start_time_ = last_update_ = Clock::now();
  has_line_ = false;
  rate_done_ = 0;
  recent_items_ = recent_seconds_ = 0.0;
  draw();
}

void ProgressBar::set_pace(const Pace& pace) {
  if (!active_) return;
  state_.pace = pace;
  state_.done = rate_done_ = pace.begun;
  // The next piece of the same work, or the first of another?
  if (state_.total - pace.begun + pace.after == left_after_) {
    const std::chrono::duration<double> gap = start_time_ - piece_end_;
    paused_ += gap.count();
  } else {
    paused_ = 0;
    items_ = 0;
  }
  if (items_ > 0) state_.pause = paused_ / static_cast<double>(items_);
  draw();
}

void ProgressBar::advance(int64_t done, const std::string& note) {
  if (!active_) return;
  state_.done = done;
  state_.note = printable(note);
  const Clock::time_point now = Clock::now();
  if (now - last_update_ < kRedrawInterval) return;
  update_rate(now);
  draw();
  const bool is_due =
      now - std::max(start_time_, last_line_.value_or(start_time_)) >=
      log_pace_.alive;
  if (is_due && done != state_.total) write_line(now);
}

void ProgressBar::finish() {
  if (!active_) return;
  active_ = false;
  const Clock::time_point now = Clock::now();
  const std::chrono::duration<double> elapsed = now - start_time_;
  state_.elapsed = elapsed.count();
  state_.rate = state_.elapsed > 0.0
                    ? static_cast<double>(state_.done - state_.pace.begun) /
                          state_.elapsed
                    : 0.0;
  if (!state_.pace.unit.empty()) {
    end_piece(now);
  } else if (has_line_) {
    write_line(now);
  }
  if (!is_live_) return;
  const int width = terminal_columns(fd_) - 1;
  write_all(fd_, "\r\x1b[K" + render_summary(state_, width, utf8_) + "\n");
}

void ProgressBar::end_piece(Clock::time_point now) {
  left_after_ = state_.pace.after;
  piece_end_ = now;
  items_ += state_.done - state_.pace.begun;
  const bool is_last = state_.pace.after == 0 || state_.done < state_.total;
  if (is_last || !last_line_ || now - *last_line_ >= log_pace_.between) {
    write_line(now);
  }
}

void ProgressBar::update_rate(Clock::time_point now) {
  const std::chrono::duration<double> step = now - last_update_;
  const std::chrono::duration<double> elapsed = now - start_time_;
  const double fade = std::exp(-step.count() / kRateMemorySeconds);
  recent_items_ =
      recent_items_ * fade + static_cast<double>(state_.done - rate_done_);
  recent_seconds_ = recent_seconds_ * fade + step.count();
  state_.rate = recent_seconds_ > 0.0 ? recent_items_ / recent_seconds_ : 0.0;
  state_.elapsed = elapsed.count();
  rate_done_ = state_.done;
  last_update_ = now;
}

void ProgressBar::draw() {
  if (!is_live_) return;
  // One column stays free: some terminals wrap when the last one is written.
  const int width = terminal_columns(fd_) - 1;
  write_all(fd_, "\r" + render_bar(state_, width, utf8_) + "\x1b[K");
}

void ProgressBar::write_line(Clock::time_point now) {
  if (is_live_) return;
  write_all(fd_, clock_text() + render_log_line(state_) + "\n");
  last_line_ = now;
  has_line_ = true;
}

}  // namespace kith
