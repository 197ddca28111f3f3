#include "tests/fuzz/set_harness.h"

namespace kith {
namespace {

const SetFolder kSet = {
    .section = "name: inshop, crop_boxes: true",
    .lists = {{"Eval/list_eval_partition.txt",
               "3\nimage_name item_id evaluation_status\n"
               "img/WOMEN/Dresses/id_00000002/02_1.jpg id_00000002 train\n"
               "img/MEN/Denim/id_00000080/01_1.jpg id_00000080 query\n"
               "img/MEN/Denim/id_00000080/01_2.jpg id_00000080 gallery\n"},
              {"Anno/list_bbox_inshop.txt",
               "3\nimage_name clothes_type pose_type x_1 y_1 x_2 y_2\n"
               "img/WOMEN/Dresses/id_00000002/02_1.jpg 1 1 002 001 005 004\n"
               "img/MEN/Denim/id_00000080/01_1.jpg 1 1 002 001 005 004\n"
               "img/MEN/Denim/id_00000080/01_2.jpg 1 1 002 001 005 004\n"}},
    .folders = {"img/WOMEN"}};

const AddHarness kAdd(set_harness("set_inshop", kSet,
                                  {"id_", "train", "query", "gallery", "img/",
                                   "\n", "-1"}));

}  // namespace
}  // namespace kith
