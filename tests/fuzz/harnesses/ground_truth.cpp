#include "kith/data/ground_truth.h"

#include "kith/core/file.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/pickle_words.h"
#include "tests/support/paths.h"

namespace kith {
namespace {

std::vector<std::string> seeds() {
  std::vector<std::string> files = {
      R"({"imlist": ["a", "b", "c"], "qimlist": ["q", "r"],)"
      R"( "gnd": [{"bbx": [1, 0, 3.2, 2], "easy": [2], "hard": [0],)"
      R"( "junk": []}, {"easy": [], "hard": [], "junk": [1]}]})"};
  for (const char* name : {"arrays_0", "arrays_4", "lists_2", "lists_5"}) {
    files.push_back(
        read_file(golden_dir() + "/ground_truth/" + name + ".pkl", 1 << 20));
  }
  return files;
}

void read(std::string_view bytes) {
  const bool is_json = bytes.starts_with('{');
  parse_ground_truth(bytes, is_json ? "gnd.json" : "gnd.pkl");
}

std::vector<std::string> words() {
  std::vector<std::string> all = pickle_words();
  for (const char* word : {"imlist", "qimlist", "gnd", "bbx", "easy", "hard",
                           "junk", "ok", "\"easy\": [", "1e300"}) {
    all.emplace_back(word);
  }
  return all;
}

const AddHarness kAdd(
    {.name = "ground_truth", .read = read, .seeds = seeds, .words = words()});

}  // namespace
}  // namespace kith
