#include "kith/core/json.h"

#include <stdexcept>

#include <nlohmann/json.hpp>

#include "kith/core/config_json.h"
#include "kith/core/json_text.h"
#include "tests/fuzz/harness.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  return {R"({"kind": "step", "epoch": 1, "loss": 0.25, "seconds": {"a": 1}})",
          R"([null, true, -1e-5, "é\u00e9\ud83d\ude00", [], {}])", "0"};
}

void read(std::string_view bytes) {
  const nlohmann::ordered_json json = parse_json(bytes);
  // What is written can be read again, and says the same.
  const std::string text = json_text(json);
  if (json_text(parse_json(text)) != text) {
    throw std::logic_error("written and read again it is another");
  }
  config_of(json, "a.json");
}

const AddHarness kAdd({.name = "json",
                       .read = read,
                       .seeds = seeds,
                       .words = {"null", "true", "false", "\\u0000", "\\ud800",
                                 "1e999", "-0", "{\"a\":", "[[", "]]", "}",
                                 "18446744073709551616", "\xef\xbb\xbf"}});

}  // namespace
}  // namespace kith
