#include "kith/io/zip.h"

#include <algorithm>

#include "tests/fuzz/harness.h"
#include "tests/fuzz/zip_repair.h"
#include "tests/support/deflated.h"
#include "tests/support/pth_files.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  const std::string text(200, 'x');
  const std::string packed = deflated(text, false);
  const std::vector<RawZipEntry> entries = {
      {"a/one.txt", "one"},
      {"a/two.bin", packed, 8, static_cast<uint32_t>(text.size())},
      {"three", raw_deflated("three"), 8, 5, "padding"}};
  return {repair_zip(raw_zip(entries)), repair_zip(raw_zip(entries, true)),
          raw_zip({})};
}

void read(std::string_view bytes) {
  const ZipFile file(as_file(bytes));
  for (const ZipEntry& entry : file.entries()) {
    file.find(entry.name);
    if (entry.stored() && !entry.encrypted) {
      char piece[4];
      file.read_range(entry, 0, piece, std::min<uint64_t>(4, entry.size));
    }
    file.read(entry, 1 << 20);
  }
}

const AddHarness kAdd({.name = "zip",
                       .read = read,
                       .seeds = seeds,
                       .words = zip_words(),
                       .repair = repair_zip});

}  // namespace
}  // namespace kith
