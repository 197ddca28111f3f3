#include "kith/run/run_metrics.h"

#include "tests/fuzz/harness.h"
#include "tests/fuzz/torch/run_files.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  const std::string eval = kStoredEval, parts = kEvalInParts;
  return {R"({"protocol":"standard","split":"test","last":{"epoch":2,)"
          R"("step":4,)" +
              eval +
              R"(},"best":{"metric":"recall_any@1","value":0.5,"epoch":2,)"
              R"("step":4,"chosen_on":"nothing"},"ended_by":"train.epochs",)"
              R"("test":{"checkpoint":"best","epoch":1,"step":2,)"
              R"("after_step":4,"split":"test",)" +
              eval + R"(},"history":[{"epoch":1,"step":2,)" + parts +
              R"(},{"epoch":2,"step":4,)" + eval + "}]}",
          R"({"protocol":"standard","split":"test","last":{)" + eval +
              R"(},"folds":[{"map":0.25},{"map":0.75}],"trained":["a","b"],)"
              R"("history":[]})"};
}

void read(std::string_view bytes) {
  const RunMetrics metrics = read_run_metrics(as_file(bytes));
  best_point(metrics.history, "recall_any@1", true);
  // What is written can be read again.
  static const TempDir dir;
  write_run_metrics(dir.file("metrics.json"), metrics);
  read_run_metrics(dir.file("metrics.json"));
}

const AddHarness kAdd({.name = "run_metrics",
                       .read = read,
                       .seeds = seeds,
                       .words = {"\"history\":", "\"best\":", "\"test\":",
                                 "\"parts\":", "\"folds\":", "null", "1e999",
                                 "-1", "9223372036854775807", "[", "]", "{}"}});

}  // namespace
}  // namespace kith
