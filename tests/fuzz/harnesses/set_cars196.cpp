#include "tests/fuzz/set_harness.h"

namespace kith {
namespace {

/// "Make 1" to "Make 196", a line each.
std::string names() {
  std::string lines;
  for (int i = 1; i <= 196; ++i) lines += "Make " + std::to_string(i) + "\n";
  return lines;
}

const SetFolder kSet = {
    .section = "name: cars196, crop_boxes: true",
    .lists = {{"anno_train.csv",
               "00001.jpg,3,2,5,4,1\n00002.jpg,3,2,5,4,150\n"},
              {"anno_test.csv",
               "00001.jpg,3,2,5,4,98\n00002.jpg,3,2,5,4,196\n"}},
    .others = {{"names.csv", names()},
               {"car_data/car_data/train/Make 1/00001.jpg", ""},
               {"car_data/car_data/train/Make 150/00002.jpg", ""},
               {"car_data/car_data/test/Make 98/00001.jpg", ""},
               {"car_data/car_data/test/Make 196/00002.jpg", ""}}};

const AddHarness kAdd(set_harness("set_cars196", kSet,
                                  {"\n", " ", "0", "-1", "999999999", "..",
                                   "/"}));

}  // namespace
}  // namespace kith
