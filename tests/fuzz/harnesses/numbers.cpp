// Numbers and flags in the fields of lists.

#include "kith/core/error.h"
#include "kith/io/csv.h"
#include "tests/fuzz/harness.h"

namespace kith {
namespace {

std::vector<std::string> seeds() { return {"1", "0"}; }

void read(std::string_view bytes) {
  const std::string field(bytes);
  try {
    parse_integer(field, "a.csv:1", "label");
  } catch (const DataError&) {
  }
  try {
    parse_number(field, "a.csv:1", "x");
  } catch (const DataError&) {
  }
  parse_flag(field, "a.csv:1", "is_query");
}

const AddHarness kAdd({.name = "numbers",
                       .read = read,
                       .seeds = seeds,
                       .words = {"1e308", "nan", "inf", "0x1p4", "True",
                                 "false", "-9223372036854775808", "."},
                       .longest = 64});

}  // namespace
}  // namespace kith
