#include "tests/fuzz/set_harness.h"
#include "tests/fuzz/tar_repair.h"
#include "tests/support/raw_tar.h"

namespace kith {
namespace {

const SetFolder kSet = {
    .section = "name: webdataset",
    .lists = {{"0.tar", raw_tar({{"0001.jpg", "picture"},
                                 {"0001.cls", "7"},
                                 {"0002.cls", "8"},
                                 {"0002.jpg", "another"}})}}};

Harness harness() {
  Harness made = set_harness("set_webdataset", kSet,
                             {"ustar", ".jpg", ".cls", ".json", "\xff"});
  made.repair = repair_tar;
  made.longest = 6144;
  return made;
}

const AddHarness kAdd(harness());

}  // namespace
}  // namespace kith
