#include "kith/io/csv.h"

#include <charconv>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/core/quote.h"
#include "kith/io/text_rows.h"

namespace kith {
namespace {

constexpr size_t kMaxColumns = 10'000;

class CsvParser {
 public:
  CsvParser(std::string_view text, const std::string& name, char separator)
      : text_(text), name_(name), separator_(separator) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  /// The next row that is not blank, or nothing at the end. It must have
  /// `width` fields; any number if that is 0. Those beyond are only counted: a
  /// separator is one byte, a field 32.
  std::optional<CsvRow> next(size_t width) {
    while (at_ < text_.size()) {
      if (skip_blank_line()) continue;
      CsvRow row;
      row.line = line_;
      row.fields.reserve(width);
      size_t count = 0;
      do {
        std::string field = parse_field();
        if (count++ < (width > 0 ? width : kMaxColumns)) {
          row.fields.push_back(std::move(field));
        }
      } while (accept_separator());
      accept_line_end();
      check_width(row.line, width, count);
      return row;
    }
    return std::nullopt;
  }

 private:
  [[noreturn]] void fail(int64_t line, const std::string& what) const {
    throw DataError(name_ + ":" + std::to_string(line) + ": " + what);
  }

  void check_width(int64_t line, size_t width, size_t count) const {
    if (width > 0 && count != width) {
      fail(line, "expected " + std::to_string(width) + " columns, got " +
                     std::to_string(count));
    }
    if (count > kMaxColumns) {
      fail(line, std::to_string(count) + " columns, at most " +
                     std::to_string(kMaxColumns) + " are accepted");
    }
  }

  bool accept_separator() {
    if (at_ >= text_.size() || text_[at_] != separator_) return false;
    ++at_;
    return true;
  }

  bool accept_line_end() {
    if (at_ >= text_.size()) return false;
    if (text_[at_] != '\n' && text_[at_] != '\r') return false;
    at_ += text_.substr(at_, 2) == "\r\n" ? size_t{2} : size_t{1};
    ++line_;
    return true;
  }

  bool skip_blank_line() {
    const size_t start = at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t') &&
           text_[at_] != separator_) {
      ++at_;
    }
    if (at_ == text_.size() || accept_line_end()) return true;
    at_ = start;
    return false;
  }

  std::string parse_field() {
    if (at_ < text_.size() && text_[at_] == '"') return parse_quoted();
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] != separator_ &&
           text_[at_] != '\n' && text_[at_] != '\r') {
      refuse_nul();
      ++at_;
    }
    return std::string(text_.substr(start, at_ - start));
  }

  std::string parse_quoted() {
    const int64_t first_line = line_;
    std::string field;
    ++at_;
    while (true) {
      if (at_ >= text_.size()) fail(first_line, "unterminated quote");
      if (text_[at_] == '"') {
        ++at_;
        if (at_ >= text_.size() || text_[at_] != '"') break;
        field += '"';
        ++at_;
        continue;
      }
      refuse_nul();
      const size_t start = at_;
      if (!accept_line_end()) ++at_;
      field += text_.substr(start, at_ - start);
    }
    const bool ends = at_ >= text_.size() || text_[at_] == separator_ ||
                      text_[at_] == '\n' || text_[at_] == '\r';
    if (!ends) fail(line_, "text after a closing quote");
    return field;
  }

  void refuse_nul() const {
    if (text_[at_] == '\0') {
      fail(line_, "NUL byte: not a text file, or not saved as UTF-8");
    }
  }

  std::string_view text_;
  std::string name_;
  char separator_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

std::string join_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + quote(name);
  }
  return text;
}

std::string row_place(const std::string& name, const CsvRow& row) {
  return name + ":" + std::to_string(row.line);
}

void check_names(const CsvRow& header, const std::string& name) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& column : header.fields) {
    if (!seen.insert(column).second) {
      throw DataError(row_place(name, header) + ": column " + quote(column) +
                      " appears twice");
    }
  }
}

/// The header, then rows of as many fields.
class RowReader {
 public:
  RowReader(std::string_view text, const std::string& name,
            const CsvOptions& options)
      : parser_(text, name, options.separator) {
    header_.line = 1;
    if (options.has_header) {
      auto first = parser_.next(0);
      if (!first) throw DataError(name + ":1: empty file, expected a header");
      header_ = std::move(*first);
    }
    check_names(header_, name);
    width_ = header_.fields.size();
  }

  const CsvRow& header() const { return header_; }

  std::optional<CsvRow> next() {
    std::optional<CsvRow> row = parser_.next(width_);
    if (row && width_ == 0) width_ = row->fields.size();
    return row;
  }

 private:
  CsvParser parser_;
  CsvRow header_;
  size_t width_ = 0;
};

}  // namespace

CsvTable::CsvTable(std::string path, CsvRow header, std::vector<CsvRow> rows)
    : path_(std::move(path)),
      header_(std::move(header)),
      rows_(std::move(rows)) {}

std::optional<size_t> CsvTable::find_column(std::string_view name) const {
  for (size_t i = 0; i < header_.fields.size(); ++i) {
    if (header_.fields[i] == name) return i;
  }
  return std::nullopt;
}

size_t CsvTable::column(std::string_view name) const {
  const auto found = find_column(name);
  if (found) return *found;
  throw DataError(where(header_) + ": no column " + quote(name) +
                  "; the columns are " + join_names(header_.fields));
}

std::string CsvTable::where(const CsvRow& row) const {
  return row_place(path_, row);
}

CsvTable read_csv(const std::string& path, const CsvOptions& options) {
  return parse_csv(read_file(path, kMaxCsvBytes), path, options);
}

CsvTable parse_csv(std::string_view text, const std::string& name,
                   const CsvOptions& options) {
  RowReader reader(text, name, options);
  std::vector<CsvRow> rows;
  while (auto row = reader.next()) rows.push_back(std::move(*row));
  return CsvTable(name, reader.header(), std::move(rows));
}

struct CsvRows::State {
  State(const std::string& path, const CsvOptions& options)
      : text(read_file(path, kMaxCsvBytes)),
        reader(text, path, options),
        head(path, reader.header(), {}) {}

  std::string text;
  RowReader reader;
  CsvTable head;
  std::optional<CsvRow> row;
};

CsvRows::CsvRows(const std::string& path, const CsvOptions& options)
    : state_(std::make_unique<State>(path, options)) {}

CsvRows::~CsvRows() = default;

const CsvTable& CsvRows::head() const { return state_->head; }

const CsvRow* CsvRows::next() {
  state_->row = state_->reader.next();
  return state_->row ? &*state_->row : nullptr;
}

int64_t parse_integer(const std::string& text, const std::string& where,
                      const std::string& what) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    throw DataError(where + ": " + what + " " + quote(text) +
                    " is not an integer");
  }
  return value;
}

double parse_number(const std::string& text, const std::string& where,
                    const std::string& what) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) {
    throw DataError(where + ": " + what + " " + quote(text) +
                    " is not a number");
  }
  return value;
}

bool parse_flag(const std::string& text, const std::string& where,
                const std::string& what) {
  if (text == "True" || text == "true" || text == "1") return true;
  if (text == "False" || text == "false" || text == "0") return false;
  throw DataError(where + ": " + what + " is " + quote(text) +
                  ", expected True or False");
}

std::string csv_quote(std::string_view field, char separator) {
  const std::string special = std::string("\"\r\n") + separator;
  constexpr std::string_view kSpace = " \t";
  const bool padded =
      !field.empty() && (kSpace.find(field.front()) != std::string_view::npos ||
                         kSpace.find(field.back()) != std::string_view::npos);
  if (!padded && field.find_first_of(special) == std::string_view::npos) {
    return std::string(field);
  }
  std::string out = "\"";
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace kith
