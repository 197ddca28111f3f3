#include "tests/fuzz/set_harness.h"

namespace kith {
namespace {

const SetFolder kSet = {
    .section = "name: gldv1, missing: skip",
    .lists = {{"train.csv",
               "\"id\",\"url\",\"landmark_id\"\n"
               "aaa,\"http://x/a,b.jpg\",6\nbbb,http://y,6\r\nccc,None,7\n"}},
    .others = {{"train/aaa.jpg", ""}, {"train/ccc.jpg", ""}}};

const AddHarness kAdd(set_harness("set_gldv1", kSet,
                                  {"id", "url", "landmark_id", "\"", ",", "..",
                                   "None", "-1"}));

}  // namespace
}  // namespace kith
