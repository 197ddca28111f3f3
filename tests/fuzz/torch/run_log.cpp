#include "kith/run/run_log.h"

#include "kith/core/file.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/torch/run_files.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  const std::string eval =
      R"({"kind":"eval","epoch":1,"step":2,"split":"test","metrics":{)" +
      std::string(kStoredEval) + R"(},"seconds":0.04})";
  return {eval + "\n" +
          R"({"kind":"step","epoch":0,"step":1,"loss":0.3,"lr":0.001,)"
          R"("grad_norm":7e-05,"images":4,"queries":4.0,"seconds":)"
          R"({"data":0.006,"forward":0.003},"peak_mb":{"data":182}})"
          "\n" +
          R"({"kind":"test","checkpoint":"best","epoch":1,"of_step":1,)"
          R"("step":2,"split":"test","metrics":{)" +
          std::string(kStoredEval) + "},\"seconds\":1}\n"};
}

void read(std::string_view bytes) {
  read_run_log(as_file(bytes));
  // A run that goes on cuts it.
  static const TempDir dir;
  write_file(dir.file("log.jsonl"), bytes);
  { const RunLog log(dir.file("log.jsonl"), 1); }
  read_run_log(dir.file("log.jsonl"));
}

const AddHarness kAdd({.name = "run_log",
                       .read = read,
                       .seeds = seeds,
                       .words = {"{\"kind\":\"step\",", "{\"kind\":\"eval\",",
                                 "{\"kind\":\"test\",", "\"seconds\":",
                                 "\"peak_mb\":", "\n", "null", "1e999", "-1"}});

}  // namespace
}  // namespace kith
