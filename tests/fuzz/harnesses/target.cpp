#include "kith/serve/target.h"

#include <stdexcept>

#include "tests/fuzz/harness.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  return {"/", "/api/search?k=5&label=a%20b", "/api/items/%C3%A9?x=1+2&y"};
}

void read(std::string_view bytes) {
  const auto target = parse_target(bytes);
  if (!target) return;
  for (const std::string& part : target->path) {
    if (part == "." || part == ".." ||
        part.find_first_of(std::string_view("/\\\0", 3)) != part.npos) {
      throw std::logic_error("a path that leads elsewhere");
    }
  }
}

const AddHarness kAdd({.name = "target",
                       .read = read,
                       .seeds = seeds,
                       .words = {"/", "..", "%2e", "%2f", "%5c", "%00", "?",
                                 "&", "=", "+", "%"},
                       .longest = 512});

}  // namespace
}  // namespace kith
