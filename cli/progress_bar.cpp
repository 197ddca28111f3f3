#include "cli/progress_bar.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
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

ProgressBar::ProgressBar(int fd)
    : fd_(fd), enabled_(is_live_terminal(fd)), utf8_(locale_is_utf8()) {}

ProgressBar::~ProgressBar() { erase(); }

void ProgressBar::erase() {
  if (active_) write_all(fd_, "\r\x1b[K");
}

void ProgressBar::start(const std::string& what, int64_t total) {
  if (!enabled_) return;
  if (active_) finish();
  active_ = true;
  state_ = BarState{};
  state_.what = printable(what);
  state_.total = total;
  start_time_ = last_draw_ = Clock::now();
  rate_done_ = 0;
  recent_items_ = recent_seconds_ = 0.0;
  draw();
}

void ProgressBar::set_pace(const Pace& pace) {
  if (!active_) return;
  state_.pace = pace;
  state_.done = rate_done_ = pace.begun;
  draw();
}

void ProgressBar::advance(int64_t done, const std::string& note) {
  if (!active_) return;
  state_.done = done;
  state_.note = printable(note);
  const Clock::time_point now = Clock::now();
  if (now - last_draw_ < kRedrawInterval) return;
  update_rate(now);
  draw();
}

void ProgressBar::finish() {
  if (!active_) return;
  active_ = false;
  const std::chrono::duration<double> elapsed = Clock::now() - start_time_;
  state_.elapsed = elapsed.count();
  state_.rate = state_.elapsed > 0.0
                    ? static_cast<double>(state_.done - state_.pace.begun) /
                          state_.elapsed
                    : 0.0;
  const int width = terminal_columns(fd_) - 1;
  write_all(fd_, "\r\x1b[K" + render_summary(state_, width, utf8_) + "\n");
}

void ProgressBar::update_rate(Clock::time_point now) {
  const std::chrono::duration<double> step = now - last_draw_;
  const std::chrono::duration<double> elapsed = now - start_time_;
  const double fade = std::exp(-step.count() / kRateMemorySeconds);
  recent_items_ =
      recent_items_ * fade + static_cast<double>(state_.done - rate_done_);
  recent_seconds_ = recent_seconds_ * fade + step.count();
  state_.rate = recent_seconds_ > 0.0 ? recent_items_ / recent_seconds_ : 0.0;
  state_.elapsed = elapsed.count();
  rate_done_ = state_.done;
  last_draw_ = now;
}

void ProgressBar::draw() {
  // One column stays free: some terminals wrap when the last one is written.
  const int width = terminal_columns(fd_) - 1;
  write_all(fd_, "\r" + render_bar(state_, width, utf8_) + "\x1b[K");
}

}  // namespace kith
