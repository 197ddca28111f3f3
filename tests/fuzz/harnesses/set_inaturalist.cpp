#include "tests/fuzz/set_harness.h"

namespace kith {
namespace {

const SetFolder kSet = {.section = "name: inaturalist",
                        .lists = {{"Inaturalist_train_set1.txt",
                                   "train_val2018/Plantae/5221/a.jpg\n"
                                   "train_val2018/Aves/12/b.jpg\n"},
                                  {"Inaturalist_test_set1.txt",
                                   "train_val2018/Fungi/7/d.jpg\r\n\r\n"}},
                        .folders = {"train_val2018/Plantae/5221"}};

const AddHarness kAdd(set_harness("set_inaturalist", kSet,
                                  {"\n", " ", "0", "-1", "999999999", "..",
                                   "/"}));

}  // namespace
}  // namespace kith
