#include "tests/fuzz/set_harness.h"

namespace kith {
namespace {

const SetFolder kSet = {
    .section = "name: revisited",
    .lists = {{"gnd_toy.json",
               R"({"imlist": ["a", "b", "c"], "qimlist": ["q", "r"],)"
               R"( "gnd": [{"bbx": [1, 0, 3.2, 2], "easy": [2], "hard": [0],)"
               R"( "junk": []}, {"bbx": [0, 0, 4, 1], "easy": [],)"
               R"( "hard": [], "junk": [1]}]})"}},
    .folders = {"jpg"}};

const AddHarness kAdd(set_harness("set_revisited", kSet,
                                  {"imlist", "qimlist", "gnd", "bbx", "easy",
                                   "hard", "junk", "1e300", "-1", "[", "]"}));

}  // namespace
}  // namespace kith
