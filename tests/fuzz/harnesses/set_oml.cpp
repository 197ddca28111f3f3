#include "tests/fuzz/set_harness.h"

namespace kith {
namespace {

const SetFolder kSet = {
    .section = "name: oml, crop_boxes: true",
    .lists = {{"df_with_bboxes.csv",
               "label,path,split,is_query,is_gallery,category,x_1,x_2,y_1,y_2\n"
               "3,images/a.png,train,,,bird,2,5,1,4\n"
               "3,images/a.png,train,,,bird,0.0,1.0,0.0,2.0\n"
               "5,images/b.png,validation,True,True,cat,,,,\n"}},
    .folders = {"images"}};

const AddHarness kAdd(set_harness("set_oml", kSet,
                                  {"label", "path", "split", "is_query",
                                   "is_gallery", "category", "x_1", "train",
                                   "validation", "True", "False", ",", "\"",
                                   "nan", "1e300"}));

}  // namespace
}  // namespace kith
