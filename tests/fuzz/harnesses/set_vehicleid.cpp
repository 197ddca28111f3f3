#include "tests/fuzz/set_harness.h"

namespace kith {
namespace {

const SetFolder kSet = {
    .section = "name: vehicleid",
    .lists = {{"train_test_split/train_list.txt", "1 10\r\n0000002   10\r\n"},
              {"train_test_split/test_list_800.txt", "5 20\n4 20\n"},
              {"train_test_split/test_list_1600.txt", "6 21\n5 20\n4 20\n"},
              {"train_test_split/test_list_2400.txt", "7 22\n8 22\n"},
              {"attribute/model_attr.txt", "10 249\n20 3\n99 1\n"}},
    .folders = {"image"}};

const AddHarness kAdd(set_harness("set_vehicleid", kSet,
                                  {"\n", " ", "0", "-1", "999999999", "..",
                                   "/"}));

}  // namespace
}  // namespace kith
