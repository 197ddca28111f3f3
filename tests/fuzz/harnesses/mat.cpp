#include "kith/io/mat.h"

#include "kith/core/file.h"
#include "tests/fuzz/harness.h"
#include "tests/support/mat_writer.h"
#include "tests/support/paths.h"

namespace kith {
namespace {

using std::string_literals::operator""s;

const std::vector<std::string> kNames = {"annotations", "class_names", "x"};

std::vector<std::string> seeds() {
  const std::string structs = mat_structs(
      {"fname", "class"},
      {mat_text("a.jpg"), mat_number(1), mat_text("b.jpg"), mat_number(2)},
      "annotations");
  const std::string cells =
      mat_cells({mat_text("one"), mat_text("two")}, "class_names");
  return {mat_file({structs, cells}), mat_file({structs, cells}, true),
          mat_file({mat_number(7, "x")}),
          read_file(golden_dir() + "/mat/annotations.mat", 1 << 20)};
}

void read(std::string_view bytes) { parse_mat(bytes, "a.mat", kNames); }

const AddHarness kAdd({.name = "mat",
                       .read = read,
                       .seeds = seeds,
                       .words = {"annotations", "class_names", "x",
                                 "\x0e\0\0\0"s, "\x0f\0\0\0"s, "\x06\0\0\0"s,
                                 "\x05\0\0\0"s, "\x01\0\0\0"s, "\x10\0\0\0"s,
                                 "\x11\0\0\0"s, "\xff\xff\xff\x7f"}});

}  // namespace
}  // namespace kith
