#include "tests/fuzz/set_harness.h"

namespace kith {
namespace {

const SetFolder kSet = {
    .section = "name: cub200, crop_boxes: true",
    .lists = {{"images.txt",
               "1 001.Albatross/A_0001.jpg\n2 100.Pelican/P_0002.jpg\n"
               "3 101.Pelican/P_0003.jpg\n4 200.Yellowthroat/Y_0004.jpg\n"},
              {"image_class_labels.txt", "1 1\n2 100\n3 101\n4 200\n"},
              {"classes.txt",
               "1 001.Albatross\n100 100.Pelican\n101 101.Pelican\n"
               "200 200.Yellowthroat\n"},
              {"bounding_boxes.txt",
               "1 2.0 1.0 3.0 3.0\n2 2.0 1.0 3.0 3.0\n3 2.0 1.0 3.0 3.0\n"
               "4 2.0 1.0 3.0 3.0\n"}},
    .folders = {"images"}};

const AddHarness kAdd(set_harness("set_cub200", kSet,
                                  {"\n", " ", "0", "-1", "999999999", "..",
                                   "/"}));

}  // namespace
}  // namespace kith
