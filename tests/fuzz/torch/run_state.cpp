#include "kith/run/run_state.h"

#include <stdexcept>

#include "tests/fuzz/harness.h"
#include "tests/fuzz/torch/run_files.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  const std::string eval = kStoredEval, parts = kEvalInParts;
  return {R"({"epoch":2,"step_in_epoch":0,"step":4,"threads":2,"history":[)"
          R"({"epoch":0,"step":0,)" +
          parts + R"(},{"epoch":2,"step":4,)" + eval +
          R"(}],"best":{"metric":"recall_any@1","value":0.5,"epoch":2,)"
          R"("step":4},"test":{"epoch":1,"step":2,"after_step":4,)" +
          eval +
          R"(},"changes":[{"epoch":1,"step":2,"key":"train.epochs",)"
          R"("old":"1","new":"2"}]})"};
}

void read(std::string_view bytes) {
  RunState state;
  state.load(std::string(bytes), "last.safetensors");
  // A run that goes on keeps what it was.
  RunState again;
  again.load(state.dump(), "last.safetensors");
  if (again.dump() != state.dump()) {
    throw std::logic_error("written and read again it is another");
  }
}

const AddHarness kAdd({.name = "run_state",
                       .read = read,
                       .seeds = seeds,
                       .words = {"\"history\":", "\"best\":", "\"test\":",
                                 "\"changes\":", "\"threads\":", "null",
                                 "1e999", "-1", "9223372036854775807", "{}"}});

}  // namespace
}  // namespace kith
