#include "tests/fuzz/set_harness.h"

namespace kith {
namespace {

const SetFolder kSet = {
    .section = "name: csv, rotate_classes: true",
    .lists = {{"dataset.csv",
               "path,label,split,is_query,is_gallery\n"
               "a.png,cat,train,1,1\nb.png,dog,test,true,false\n"
               "c.png,dog,test,0,1\n"}}};

const AddHarness kAdd(set_harness("set_csv", kSet,
                                  {"path", "label", "split", "is_query",
                                   "is_gallery", "category", "train", "test",
                                   "val", "x_1", ",", "\"", "-1",
                                   "9223372036854775807"}));

}  // namespace
}  // namespace kith
