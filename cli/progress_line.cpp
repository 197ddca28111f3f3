#include "cli/progress_line.h"

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <string_view>
#include <vector>

#include "kith/core/number_text.h"

namespace kith {
namespace {

constexpr int kMaxBar = 30;
constexpr int kMinBar = 5;
constexpr int kMinName = 6;
constexpr int kMinNote = 6;
constexpr int kMaxPieceName = 20;
constexpr int kPieceBar = 12;     // cells of the bar of a piece ...
constexpr int kPieceWords = 118;  // ... that grows beyond these columns

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

std::string format_rate(double per_second, const std::string& unit) {
  if (!(per_second > 0.0) || per_second > 1e15) return "";
  const std::string of = unit.empty() ? "" : " " + unit;
  if (per_second >= 999.5e3)
    return format_fixed(per_second / 1e6, 1) + "M" + of + "/s";
  if (per_second >= 999.5)
    return format_fixed(per_second / 1e3, 1) + "k" + of + "/s";
  if (per_second >= 99.95) return format_fixed(per_second, 0) + of + "/s";
  if (per_second >= 1.0) return format_fixed(per_second, 1) + of + "/s";
  if (per_second >= 0.1) return format_fixed(per_second, 2) + of + "/s";
  if (per_second * 60 >= 0.1)
    return format_fixed(per_second * 60, 1) + of + "/min";
  return format_fixed(per_second * 3600, 1) + of + "/h";
}

namespace {

std::string units_rate(const BarState& state) {
  return format_rate(state.rate * state.pace.units, state.pace.unit);
}

// Words on the line of a piece of longer work. When there is no room those of
// the highest rank go first: the later a note, the sooner.
struct Words {
  std::string text;
  int rank = 0;
};

constexpr int kFirstNote = 0;
constexpr int kTime = 1;
constexpr int kSpeed = 2;
constexpr int kMoreNotes = 3;

std::vector<Words> words_after_count(const BarState& state) {
  std::vector<Words> words;
  for (size_t begin = 0; begin < state.note.size();) {
    const size_t end =
        std::min(state.note.find("  ", begin), state.note.size());
    const int count = static_cast<int>(words.size());
    words.push_back({state.note.substr(begin, end - begin),
                     count == 0 ? kFirstNote : kMoreNotes + count});
    begin = end + 2;
  }
  const std::string rate = units_rate(state);
  if (rate.empty()) return words;
  words.push_back({rate, kSpeed});
  const double items = static_cast<double>(state.total) -
                       static_cast<double>(state.done) +
                       static_cast<double>(state.pace.after);
  if (items > 0) {
    const double left = items * (1 / state.rate + state.pause);
    words.push_back({format_duration(left) + " left", kTime});
  }
  return words;
}

std::string render_piece(const BarState& state, int width, bool utf8) {
  const int64_t done = std::clamp<int64_t>(state.done, 0, state.total);
  Field line = fit(state.what, std::min(kMaxPieceName, width), utf8);
  const int most = std::clamp(width - kPieceWords, kPieceBar, kMaxBar);
  const int cells = std::clamp(width / 6, kMinBar, most);
  const double fraction =
      static_cast<double>(done) / static_cast<double>(state.total);
  append_if_fits(line, draw_cells(fraction, cells, utf8), 1, width, utf8);
  append_if_fits(line, padded_count(done, state.total), 1, width, utf8);
  std::vector<Words> words = words_after_count(state);
  const auto columns = [&] {
    int sum = line.columns;
    for (const Words& w : words) {
      sum += 2 + fit(w.text, INT_MAX, utf8).columns;
    }
    return sum;
  };
  while (!words.empty() && columns() > width) {
    const auto last = std::max_element(
        words.begin(), words.end(),
        [](const Words& a, const Words& b) { return a.rank < b.rank; });
    if (last->rank == kFirstNote) break;
    words.erase(last);
  }
  for (const Words& w : words) {
    append_if_fits(line, w.text, 2, width, utf8);
  }
  return line.text;
}

}  // namespace

std::string render_bar(const BarState& state, int width, bool utf8) {
  if (width <= 0) return "";
  if (!state.pace.unit.empty() && state.total > 0) {
    return render_piece(state, width, utf8);
  }
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

std::string render_log_line(const BarState& state) {
  std::string line = state.what + "  " + std::to_string(state.done);
  if (state.total > 0) line += "/" + std::to_string(state.total);
  if (!state.pace.unit.empty() && state.total > 0) {
    for (const Words& w : words_after_count(state)) line += "  " + w.text;
    return line;
  }
  const std::string rate = units_rate(state);
  if (!rate.empty()) line += "  " + rate;
  const bool is_on = state.done < state.total && !rate.empty();
  const double left = static_cast<double>(state.total - state.done);
  line += is_on ? "  " + format_duration(left / state.rate) + " left"
                : "  in " + format_duration(state.elapsed);
  return state.note.empty() ? line : line + "  " + state.note;
}

std::string render_summary(const BarState& state, int width, bool utf8) {
  std::string count = std::to_string(state.done);
  if (state.total > 0 && state.done != state.total) {
    count += "/" + std::to_string(state.total);
  }
  Field line = fit(state.what, std::max(0, std::min(width, 40)), utf8);
  append_if_fits(line, count + " in " + format_duration(state.elapsed), 2,
                 width, utf8);
  append_if_fits(line, units_rate(state), 2, width, utf8);
  append_note(line, state.note, width, utf8);
  return line.text;
}

}  // namespace kith
