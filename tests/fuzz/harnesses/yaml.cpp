#include <stdexcept>

#include <nlohmann/json.hpp>

#include "kith/core/config.h"
#include "kith/core/config_json.h"
#include "tests/fuzz/harness.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  return {
      "data: {name: cub200, path: \"x\"}\nloss:\n  name: recall_at_k\n"
      "  k: [1, 2, 4]\n",
      "a: &x {b: 1, c: ~}\nd: *x\ne:\n- 1\n- 'two'\n- [3, {f: g}]\n",
      "text: |\n  one\n  two\nfolded: >-\n  x\n  y\n# end\n",
      "\"quoted \\u00e9\": !!str 5\n? key\n: value\n"};
}

void read(std::string_view bytes) {
  const ConfigNode node = parse_config(std::string(bytes), "a.yaml");
  // What is printed can be read again, and says the same.
  const std::string yaml = to_yaml(node);
  if (to_yaml(parse_config(yaml, "printed")) != yaml) {
    throw std::logic_error("printed and read again it is another");
  }
  config_of(config_json(node), "json");
}

const AddHarness kAdd(
    {.name = "yaml",
     .read = read,
     .seeds = seeds,
     .words = {": ",     "- ",     "&a ", "*a",    "!!str ", "<<: ",
               "{",      "}",      "[",   "]",     "'",      "\"",
               "|\n",    ">\n",    "? ",  "---\n", "...\n",  "%YAML 1.2\n",
               "base: ", "name: ", "~",   "\\x00"}});

}  // namespace
}  // namespace kith
