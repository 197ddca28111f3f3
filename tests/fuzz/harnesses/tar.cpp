#include "kith/io/tar.h"

#include "tests/fuzz/harness.h"
#include "tests/fuzz/tar_repair.h"
#include "tests/support/raw_tar.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  return {raw_tar({{"0001.jpg", "picture"}, {"0001.cls", "7"}}),
          raw_tar({{"././@LongLink", "a/very/long/name\0", 'L'},
                   {"a/very", "contents"}}),
          raw_tar({{"pax", "20 path=folder/name\n", 'x'},
                   {"name", "contents"},
                   {"folder/", "", '5'},
                   {"link", "", '2'}}),
          raw_tar({{.name = "short", .contents = "x", .prefix = "before"}})};
}

void read(std::string_view bytes) {
  const FileReader archive(as_file(bytes));
  for (const TarEntry& entry : read_tar(archive)) {
    read_tar_entry(archive, entry, 1 << 20);
  }
}

const AddHarness kAdd({.name = "tar",
                       .read = read,
                       .seeds = seeds,
                       .words = {"ustar", "././@LongLink", "GNU.sparse.major=1",
                                 "11 size=99\n", "12 path=abc\n", "77777777777",
                                 "\x80", "\xff"},
                       .repair = repair_tar,
                       .longest = 6144});

}  // namespace
}  // namespace kith
