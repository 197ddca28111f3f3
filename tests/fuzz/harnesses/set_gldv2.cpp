#include "tests/fuzz/set_harness.h"

namespace kith {
namespace {

const SetFolder kSet = {
    .section = "name: gldv2",
    .lists = {{"train.csv",
               "id,url,landmark_id\nabc1,u,5\nabd2,\"u,v\",5\nxyz3,,9\n"},
              {"train_clean.csv", "landmark_id,images\n5,abc1 abd2\n9,xyz3\n"},
              {"index.csv", "id\nia1\nib2\nic3\n"},
              {"retrieval_solution_v2.1.csv",
               "id,images,Usage\nqa1,None,Ignored\nqb2,ic3 ia1,Public\n"
               "qc3,ib2,Private\n"}},
    .folders = {"train", "index", "test"}};

const AddHarness kAdd(set_harness("set_gldv2", kSet,
                                  {"id", "images", "Usage", "Public", "Private",
                                   "Ignored", "None", "landmark_id", "\"", ",",
                                   "-1"}));

}  // namespace
}  // namespace kith
