#include "cli/progress_bar.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

namespace kith {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval{100};
constexpr double kRateMemorySeconds = 10.0;
constexpr int kMaxBar = 30;
constexpr int kMinBar = 5;
constexpr int kMinName = 6;
constexpr int kMinNote = 6;

std::string fixed(double value, int decimals) {
  std::array<char, 64> buffer;
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                    std::chars_format::fixed, decimals);
  return {buffer.data(), result.ptr};
}

// A piece of text and the columns it takes on the screen.
struct Field {
  std::string text;
  int columns = 0;

  void add(const Field& more) {
    text += more.text;
    columns += more.columns;
  }
};

// Splits into characters that are safe to write. Wide characters are told
// roughly and never as too narrow, so that a line cannot wrap.
std::vector<Field> split_glyphs(std::string_view text, bool utf8) {
  std::vector<Field> glyphs;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int ones = std::countl_one(lead);
    const size_t length = ones >= 2 && ones <= 4 ? size_t(ones) : 1;
    uint32_t code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    bool valid = lead < 0x80 || length > 1;
    for (size_t k = 1; k < length && valid; ++k) {
      valid = i + k < text.size() && (text[i + k] & 0xC0) == 0x80;
      if (valid) code = (code << 6) | (text[i + k] & 0x3Fu);
    }
    const size_t taken = valid ? length : 1;
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    if (valid && control) {
      glyphs.push_back({" ", 1});
    } else if (!valid || (lead >= 0x80 && !utf8)) {
      glyphs.push_back({"?", 1});
    } else {
      const bool wide = code >= 0x1100 && !(code >= 0x2000 && code < 0x2E80);
      glyphs.push_back({std::string(text.substr(i, taken)), wide ? 2 : 1});
    }
    i += taken;
  }
  return glyphs;
}

// The text, cut to `width` columns with an ellipsis at the cut.
Field fit(std::string_view text, int width, bool utf8) {
  const int ellipsis = utf8 ? 1 : 2;
  Field whole, cut;
  for (const Field& glyph : split_glyphs(text, utf8)) {
    whole.add(glyph);
    if (whole.columns <= width - ellipsis) cut = whole;
  }
  if (whole.columns <= width) return whole;
  if (ellipsis <= width) cut.add({utf8 ? "…" : "..", ellipsis});
  return cut;
}

// Appends `text` after `gap` spaces if the line keeps to `width`.
bool append_if_fits(Field& line, std::string_view text, int gap, int width,
                    bool utf8) {
  const Field field = fit(text, INT_MAX, utf8);
  if (field.columns == 0) return true;
  if (line.columns + gap + field.columns > width) return false;
  line.add({std::string(static_cast<size_t>(gap), ' '), gap});
  line.add(field);
  return true;
}

void append_note(Field& line, std::string_view note, int width, bool utf8) {
  const int room = width - line.columns - 2;
  if (room < kMinNote) return;
  append_if_fits(line, fit(note, room, utf8).text, 2, width, utf8);
}

std::string draw_cells(double fraction, int cells, bool utf8) {
  static constexpr std::array<const char*, 8> kEighths = {" ", "▏", "▎", "▍",
                                                          "▌", "▋", "▊", "▉"};
  std::string bar = utf8 ? "▕" : "[";
  const int parts = utf8 ? 8 : 1;
  const int filled = static_cast<int>(fraction * cells * parts);
  for (int cell = 0; cell < cells; ++cell) {
    const int part = std::clamp(filled - cell * parts, 0, parts);
    if (part == parts) {
      bar += utf8 ? "█" : "#";
    } else {
      bar += kEighths[static_cast<size_t>(part)];
    }
  }
  return bar + (utf8 ? "▏" : "]");
}

std::string padded_count(int64_t done, int64_t total) {
  const std::string whole = std::to_string(total);
  std::string part = std::to_string(done);
  if (part.size() < whole.size())
    part.insert(0, whole.size() - part.size(), ' ');
  return part + "/" + whole;
}

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

std::string format_duration(double seconds) {
  if (!(seconds >= 0.0) || seconds > 1e9) return "?";
  const auto whole = static_cast<int64_t>(seconds);
  const auto two = [](int64_t value) {
    return (value < 10 ? "0" : "") + std::to_string(value);
  };
  const int64_t hours = whole / 3600;
  const int64_t minutes = whole / 60 % 60;
  const std::string tail = ":" + two(whole % 60);
  if (hours == 0) return std::to_string(minutes) + tail;
  return std::to_string(hours) + ":" + two(minutes) + tail;
}

std::string format_rate(double per_second) {
  if (!(per_second > 0.0) || per_second > 1e15) return "";
  if (per_second >= 999.5e3) return fixed(per_second / 1e6, 1) + "M/s";
  if (per_second >= 999.5) return fixed(per_second / 1e3, 1) + "k/s";
  if (per_second >= 99.95) return fixed(per_second, 0) + "/s";
  if (per_second >= 1.0) return fixed(per_second, 1) + "/s";
  if (per_second >= 0.1) return fixed(per_second, 2) + "/s";
  if (per_second * 60 >= 0.1) return fixed(per_second * 60, 1) + "/min";
  return fixed(per_second * 3600, 1) + "/h";
}

std::string render_bar(const BarState& state, int width, bool utf8) {
  if (width <= 0) return "";
  // The bar's place and size follow from the width alone, so that it does not
  // jump while the numbers after it change their lengths.
  const int cells = std::clamp(width / 4, kMinBar, kMaxBar);
  const int name_room = std::max(kMinName, width / 4);
  const std::string rate = format_rate(state.rate);

  if (state.total <= 0) {
    Field line = fit(state.what, std::min(width, std::max(width / 2, 6)), utf8);
    append_if_fits(line, std::to_string(state.done), 2, width, utf8);
    append_if_fits(line, rate, 2, width, utf8);
    append_if_fits(line, format_duration(state.elapsed), 2, width, utf8);
    append_note(line, state.note, width, utf8);
    return line.text;
  }

  const int64_t done = std::clamp<int64_t>(state.done, 0, state.total);
  const double fraction =
      static_cast<double>(done) / static_cast<double>(state.total);
  std::string percent = std::to_string(static_cast<int>(fraction * 100));
  percent.insert(0, 3 - percent.size(), ' ');
  percent += "%";

  Field line = fit(state.what, std::min(name_room, width), utf8);
  if (!append_if_fits(line, percent, 1, width, utf8)) return line.text;
  append_if_fits(line, draw_cells(fraction, cells, utf8), 1, width, utf8);
  append_if_fits(line, padded_count(done, state.total), 1, width, utf8);
  append_if_fits(line, rate, 2, width, utf8);
  if (!rate.empty()) {
    const double left = static_cast<double>(state.total - done) / state.rate;
    append_if_fits(line, format_duration(left) + " left", 2, width, utf8);
  }
  append_note(line, state.note, width, utf8);
  return line.text;
}

std::string render_summary(const BarState& state, int width, bool utf8) {
  std::string count = std::to_string(state.done);
  if (state.total > 0 && state.done != state.total) {
    count += "/" + std::to_string(state.total);
  }
  Field line = fit(state.what, std::max(0, std::min(width, 40)), utf8);
  append_if_fits(line, count + " in " + format_duration(state.elapsed), 2,
                 width, utf8);
  append_if_fits(line, format_rate(state.rate), 2, width, utf8);
  append_note(line, state.note, width, utf8);
  return line.text;
}

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
  state_.what = what;
  state_.total = total;
  start_time_ = last_draw_ = Clock::now();
  rate_done_ = 0;
  recent_items_ = recent_seconds_ = 0.0;
  draw();
}

void ProgressBar::advance(int64_t done, const std::string& note) {
  if (!active_) return;
  state_.done = done;
  state_.note = note;
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
                    ? static_cast<double>(state_.done) / state_.elapsed
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
