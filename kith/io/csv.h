#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kith {

/// The largest file that is read.
constexpr uint64_t kMaxCsvBytes = uint64_t{4} << 30;

struct CsvOptions {
  char separator = ',';
  bool has_header = true;  ///< false: the first row is data, no column names.
};

struct CsvRow {
  int64_t line = 0;  ///< Line of the file on which the row starts, from 1.
  std::vector<std::string> fields;
};

/// A CSV file in memory. Every row has as many fields as the first one.
class CsvTable {
 public:
  CsvTable(std::string path, CsvRow header, std::vector<CsvRow> rows);

  const std::string& path() const { return path_; }
  /// Empty if the file was read without a header.
  const std::vector<std::string>& header() const { return header_.fields; }
  const std::vector<CsvRow>& rows() const { return rows_; }

  /// Index of the column of this name.
  std::optional<size_t> find_column(std::string_view name) const;
  /// The same; DataError that lists the columns if there is none.
  size_t column(std::string_view name) const;

  /// "path:line", to start the message of an error about this row.
  std::string where(const CsvRow& row) const;

 private:
  std::string path_;
  CsvRow header_;
  std::vector<CsvRow> rows_;
};

/// Reads RFC 4180: fields may be quoted, and then hold separators, line ends
/// and doubled quotes. Lines end in LF, CRLF or CR; a UTF-8 byte order mark
/// and blank lines (nothing or only spaces) are skipped. A quote inside an
/// unquoted field is an ordinary character. DataError "path:line: ..." for an
/// unterminated quote, text after a closing quote, a row with another number
/// of fields, more than 10 000 of them, a repeated column name, a NUL byte or a
/// missing header.
CsvTable read_csv(const std::string& path, const CsvOptions& options = {});

/// The same from memory; `name` stands for the path in messages.
CsvTable parse_csv(std::string_view text, const std::string& name,
                   const CsvOptions& options = {});

/// The rows of a CSV file one after another, by the same rules: for lists of
/// millions of rows, which as a table would take many times their size.
class CsvRows {
 public:
  explicit CsvRows(const std::string& path, const CsvOptions& options = {});
  ~CsvRows();
  CsvRows(const CsvRows&) = delete;
  CsvRows& operator=(const CsvRows&) = delete;

  /// The file's name and columns, as a table without rows.
  const CsvTable& head() const;

  /// The next row, which lives until the next call; nullptr at the end.
  const CsvRow* next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A field as a whole number, a finite number, or true and false (True, true,
/// 1; False, false, 0). DataError that starts with `where` and names the column
/// `what`.
int64_t parse_integer(const std::string& text, const std::string& where,
                      const std::string& what);
double parse_number(const std::string& text, const std::string& where,
                    const std::string& what);
bool parse_flag(const std::string& text, const std::string& where,
                const std::string& what);

/// The field as it must be written: quoted if it holds the separator, a quote,
/// a line end, or a space or tab at either end.
std::string csv_quote(std::string_view field, char separator = ',');

}  // namespace kith
