#include "tests/fuzz/set_harness.h"

namespace kith {
namespace {

const SetFolder kSet = {.section = "name: sop",
                        .lists = {{"Ebay_train.txt",
                                   "image_id class_id super_class_id path\n"
                                   "1 1 1 bicycle_final/111_0.JPG\n"
                                   "2 1 1 bicycle_final/111_1.JPG\n"},
                                  {"Ebay_test.txt",
                                   "image_id class_id super_class_id path\n"
                                   "3 11319 1 bicycle_final/251_0.JPG\n"
                                   "4 11320 11 table_final/360_0.JPG\n"}},
                        .folders = {"bicycle_final"}};

const AddHarness kAdd(set_harness("set_sop", kSet,
                                  {"\n", " ", "0", "-1", "999999999", "..",
                                   "/"}));

}  // namespace
}  // namespace kith
