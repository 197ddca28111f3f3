// The data set `vehicleid` on a small tree of the published format.

#include <gmock/gmock.h>

#include "kith/data/check.h"
#include "kith/data/published_sets.h"
#include "tests/support/set_test.h"

namespace kith {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VehicleIdSet : public SetTest<VehicleIdDataSet> {
 protected:
  VehicleIdSet() : SetTest<VehicleIdDataSet>("vehicleid") {
    split("train_list", "1 10\r\n0000002   10\r\n3 11\r\n\r\n");
    split("test_list_800", "5 20\n4 20\n");
    split("test_list_1600", "6 21\n5 20\n4 20\n");
    split("test_list_2400", "7 22\n8 22\n");
    write("attribute/model_attr.txt", "10 249\n20 3\n99 1\n");
    write_picture(dir_, "image/0000001.jpg");
  }

  void split(const std::string& name, const std::string& rows) {
    write("train_test_split/" + name + ".txt", rows);
  }

  template <typename... Parts>
  void refused(const std::string& name, const std::string& rows,
               const Parts&... parts) {
    SCOPED_TRACE(rows);
    split(name, rows);
    expect_refused(dir_.file("train_test_split/" + name + ".txt"), parts...);
  }
};

TEST_F(VehicleIdSet, ReadsTheLists) {
  const auto set = open();
  EXPECT_THAT(
      contents(*set),
      ElementsAre("train/10:image/0000001.jpg", "train/10:image/0000002.jpg",
                  "train/11:image/0000003.jpg", "test/20:image/0000005.jpg",
                  "test/20:image/0000004.jpg", "test/21:image/0000006.jpg",
                  "test/22:image/0000007.jpg", "test/22:image/0000008.jpg"));
  const ImageList& list = set->list();
  // An image of two lists is one item.
  EXPECT_THAT(list.lists.at("small"), ElementsAre(3, 4));
  EXPECT_THAT(list.lists.at("medium"), ElementsAre(3, 4, 5));
  EXPECT_THAT(list.lists.at("large"), ElementsAre(6, 7));
  EXPECT_EQ(list.items[0].category, "249");
  EXPECT_EQ(list.items[2].category, "");
  EXPECT_EQ(list.items[4].category, "3");
  EXPECT_FALSE(list.has_query_gallery);
  EXPECT_EQ(set->load(0).width, 8);
  EXPECT_THAT(log_.warnings(), IsEmpty());
  EXPECT_EQ(usual_protocol("vehicleid"), "vehicleid");
  expect_recognised();
}

TEST_F(VehicleIdSet, NeedsNoAttributes) {
  remove("attribute");
  EXPECT_EQ(open()->list().items[0].category, "");
  EXPECT_THAT(log_.notes(), Contains(HasSubstr("no category")));
}

TEST_F(VehicleIdSet, RefusesWrongLists) {
  refused("train_list", "1 10 x\n", ":1", "'<image> <vehicle>'", "3 words");
  refused("train_list", "1 ten\n", ":1", "vehicle 'ten'");
  refused("train_list", "-1 10\n", ":1", "image is -1");
  refused("train_list", "1 10\n2 10\n1 10\n", ":3", "image 1 is there twice",
          "line 1");
  refused("train_list", "\n\n", "no images");
  split("train_list", "1 10\n");
  refused("test_list_800", "1 10\n", ":1", "image 1", "train_list.txt too");
  split("test_list_800", "5 20\n");
  refused("test_list_1600", "6 21\n5 21\n", ":2", "vehicle 21", "of 20");
  remove("train_test_split/test_list_2400.txt");
  split("test_list_1600", "6 21\n");
  expect_refused("test_list_2400.txt");
  remove("image");
  expect_refused(dir_.file("image"), "no such folder");
}

TEST_F(VehicleIdSet, RefusesWrongAttributes) {
  write("attribute/model_attr.txt", "10 1\n10 1\n10 2\n");
  expect_refused("model_attr.txt:3", "vehicle 10", "another model");
  write("attribute/model_attr.txt", "10\n");
  expect_refused("model_attr.txt:1", "<vehicle> <model>");
}

TEST_F(VehicleIdSet, ComparesItsListsWithThePublishedOnes) {
  EXPECT_THAT(
      published_differences(*open()),
      ElementsAre(HasSubstr("3 images, but the published number is 110178"),
                  HasSubstr("2 classes, but the published number is 13134"),
                  HasSubstr("the list 'large' has 2 images, but "
                            "the published number is 20038"),
                  HasSubstr("'medium' has 3"), HasSubstr("'small' has 2")));
}

}  // namespace
}  // namespace kith
