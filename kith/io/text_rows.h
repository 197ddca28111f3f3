#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kith {

/// What some editors begin a UTF-8 file with.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// The rows of a text file, one per line, of words with spaces or tabs between
/// them. Lines end in LF or CRLF; a UTF-8 byte order mark and blank lines are
/// skipped.
class TextRows {
 public:
  /// DataError if the file cannot be read.
  explicit TextRows(const std::string& path);

  const std::string& path() const { return path_; }

  /// Goes to the next row; false at the end. DataError for a NUL byte.
  bool next();

  /// Of the present row.
  const std::vector<std::string>& words() const { return words_; }
  int64_t line() const { return line_; }
  /// "path:line", to start the message of an error.
  std::string where() const;

  /// DataError unless the row has `count` words; `form` shows them: "<id>
  /// <path>".
  void expect(size_t count, const std::string& form) const;

  /// Goes to the next row, which must be the header with these words.
  void read_header(const std::string& words);

 private:
  std::string path_;
  std::string text_;
  size_t at_ = 0;
  int64_t line_ = 0;
  std::vector<std::string> words_;
};

/// The first of these files and folders that exists; an empty string if none
/// does.
std::string first_that_exists(const std::vector<std::string>& paths);

}  // namespace kith
