#include "kith/io/csv.h"

#include "tests/fuzz/harness.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  return {"path,label\na.jpg,1\n\"b \"\"x\"\".jpg\",2\r\n\n\"c\nd\",3\r",
          "\xef\xbb\xbfone\n1\n2\n", "a,b\n1.5,true\n-2,False\n"};
}

void read(std::string_view bytes) {
  const CsvTable table = parse_csv(bytes, "a.csv");
  CsvRows rows(as_file(bytes));
  while (rows.next() != nullptr) {
  }
  for (const CsvRow& row : table.rows()) {
    for (const std::string& field : row.fields) csv_quote(field);
  }
}

const AddHarness kAdd({.name = "csv",
                       .read = read,
                       .seeds = seeds,
                       .words = {"\"", "\"\"", "\r\n", "\n", ",", "path",
                                 "label", "\xef\xbb\xbf", "1e999", "nan",
                                 "9223372036854775808"}});

}  // namespace
}  // namespace kith
