#include "kith/io/text_rows.h"

#include <algorithm>
#include <string_view>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/options.h"
#include "kith/core/path.h"
#include "kith/core/quote.h"

namespace kith {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
constexpr std::string_view kSpace = " \t\r";
/// Of a row; no list has more than a few. A word of two bytes takes 32.
constexpr size_t kMaxWords = 10'000;

}  // namespace

TextRows::TextRows(const std::string& path)
    : path_(path), text_(read_file(path, kMaxBytes)) {
  if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
}

bool TextRows::next() {
  const std::string_view text = text_;
  words_.clear();
  while (words_.empty() && at_ < text.size()) {
    const size_t end = std::min(text.find('\n', at_), text.size());
    std::string_view line = text.substr(at_, end - at_);
    at_ = end + 1;
    ++line_;
    if (line.find('\0') != std::string_view::npos) {
      throw DataError(where() + ": NUL byte: not a text file");
    }
    for (size_t word = line.find_first_not_of(kSpace);
         word != std::string_view::npos;
         word = line.find_first_not_of(kSpace)) {
      if (words_.size() == kMaxWords) {
        throw DataError(where() + ": more than " + std::to_string(kMaxWords) +
                        " words in a row");
      }
      line.remove_prefix(word);
      const size_t size = std::min(line.find_first_of(kSpace), line.size());
      words_.emplace_back(line.substr(0, size));
      line.remove_prefix(size);
    }
  }
  return !words_.empty();
}

std::string TextRows::where() const {
  return path_ + ":" + std::to_string(line_);
}

void TextRows::expect(size_t count, const std::string& form) const {
  if (words_.size() == count) return;
  throw DataError(where() + ": expected '" + form + "', got " +
                  std::to_string(words_.size()) +
                  (words_.size() == 1 ? " word" : " words"));
}

void TextRows::read_header(const std::string& words) {
  const bool found = next();
  if (found && join(words_, " ") == words) return;
  throw DataError(where() + ": expected the header '" + words + "', got " +
                  (found ? quote(join(words_, " ")) : "the end of the file"));
}

std::string first_that_exists(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (path_exists(path)) return path;
  }
  return "";
}

}  // namespace kith
