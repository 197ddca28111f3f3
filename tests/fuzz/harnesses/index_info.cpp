#include "kith/index/index_info.h"

#include "kith/core/file.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/sum_repair.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  const TempDir dir;
  IndexRecord record;
  record.info.kind = "exact";
  record.info.model = "runs/a";
  record.info.model_hash = "abc";
  record.info.recall = {{"1@1", 0.5}};
  record.info.removed.append({1, 2});
  record.info.threshold = IndexThreshold{0.5, "far=0.001"};
  record.info.pictures_root = "/a/caf\xe9";
  record.count = 9;
  record.dim = 4;
  write_index_record(dir.file("INDEX.json"), record);
  return {read_file(dir.file("INDEX.json"), 1 << 20)};
}

std::string repair(std::string bytes) {
  return with_own_sum(std::move(bytes), R"("crc32c":")");
}

void read(std::string_view bytes) {
  const IndexRecord record = read_index_record(as_file(bytes));
  if (record.count > record.info.removed.size()) {
    record.info.removed.nth_outside(0);
  }
}

const AddHarness kAdd({.name = "index_info",
                       .read = read,
                       .seeds = seeds,
                       .words = {"\"kind\":", "\"removed\":", "\"count\":",
                                 "\"dim\":", "\"recall\":", "\"threshold\":",
                                 "\"pictures_root\":", "9223372036854775807",
                                 "-1", "1e300", "[", "]", "null"},
                       .repair = repair});

}  // namespace
}  // namespace kith
