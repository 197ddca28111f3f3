#include "cli/wrap.h"

#include <algorithm>

#include <sys/ioctl.h>
#include <unistd.h>

namespace kith {
namespace {

/// Characters of UTF-8 text, which is about what a terminal shows.
size_t shown_size(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(),
                    [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string wrapped(const std::string& line, size_t indent) {
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1) return line;
  const bool known =
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return wrapped(line, indent, known ? size.ws_col : 80);
}

std::string wrapped(const std::string& line, size_t indent, size_t columns) {
  std::string text;
  std::string row;  // spaces within the line are kept
  for (size_t at = 0; at < line.size();) {
    const size_t word = std::min(line.find_first_not_of(' ', at), line.size());
    const size_t end = std::min(line.find(' ', word), line.size());
    const std::string next = line.substr(at, end - at);
    const bool is_first = row.find_first_not_of(' ') == std::string::npos;
    if (!is_first && shown_size(row) + shown_size(next) > columns) {
      text += row + "\n";
      row = std::string(indent, ' ') + line.substr(word, end - word);
    } else {
      row += next;
    }
    at = end;
  }
  return text + row;
}

}  // namespace kith
