// The expressions of --set.

#include "kith/core/config.h"
#include "tests/fuzz/harness.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  return {"loss.k=[1,2,4]", "augment.0.degrees=5", "data={name: x, path: y}",
          "train.lr=1e-4", "new.key.of.map='text'"};
}

void read(std::string_view bytes) {
  ConfigNode root = parse_config(
      "{loss: {name: a, k: [1, 2]}, augment: [{degrees: 1}], data: {path: x}}",
      "a.yaml");
  apply_override(root, std::string(bytes));
  to_yaml(root);
  ConfigNode base = parse_config("{loss: {name: b}, train: {lr: 1}}", "b.yaml");
  merge_config(base, root);
}

const AddHarness kAdd({.name = "override",
                       .read = read,
                       .seeds = seeds,
                       .words = {"loss", "augment", "data", ".0", ".1", ".-1",
                                 "=", "..", "[", "]", "{", "}", "name",
                                 ".99999999999999999999"},
                       .longest = 512});

}  // namespace
}  // namespace kith
