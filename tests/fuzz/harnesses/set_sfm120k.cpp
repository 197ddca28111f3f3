#include "kith/core/file.h"
#include "tests/fuzz/pickle_words.h"
#include "tests/fuzz/set_harness.h"
#include "tests/support/paths.h"
namespace kith {
namespace {

const SetFolder kSet = {
    .section = "name: sfm120k",
    .lists = {{"retrieval-SfM-120k.pkl",
               read_file(golden_dir() + "/sfm120k/arrays.pkl", 1 << 20)}},
    .folders = {"ims"}};

const AddHarness kAdd(set_harness("set_sfm120k", kSet, pickle_words()));

}  // namespace
}  // namespace kith
