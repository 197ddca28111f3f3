// The data set `inaturalist` on a small tree of the published format.

#include <gmock/gmock.h>

#include "kith/data/published_sets.h"
#include "tests/support/set_test.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class INaturalistSet : public SetTest<INaturalistDataSet> {
 protected:
  INaturalistSet() : SetTest<INaturalistDataSet>("inaturalist") {
    train(
        "train_val2018/Plantae/5221/a.jpg\ntrain_val2018/Aves/12/b.jpg\n"
        "train_val2018/Plantae/5221/c.jpg\n");
    test("train_val2018/Fungi/7/d.jpg\r\n\r\n");
    write_picture(dir_, "train_val2018/Plantae/5221/a.jpg");
  }

  void train(const std::string& rows) {
    write("Inat_dataset_splits/Inaturalist_train_set1.txt", rows);
  }
  void test(const std::string& rows) {
    write("Inat_dataset_splits/Inaturalist_test_set1.txt", rows);
  }
};

TEST_F(INaturalistSet, NumbersClassesByName) {
  const auto set = open();
  EXPECT_THAT(contents(*set),
              ElementsAre("train/2:train_val2018/Plantae/5221/a.jpg",
                          "train/0:train_val2018/Aves/12/b.jpg",
                          "train/2:train_val2018/Plantae/5221/c.jpg",
                          "test/1:train_val2018/Fungi/7/d.jpg"));
  EXPECT_EQ(set->list().class_name(2), "Plantae/5221");
  EXPECT_EQ(set->list().items[3].category, "Fungi");
  EXPECT_EQ(set->load(0).width, 8);
  EXPECT_EQ(set->traits().published->test_images, 136093);
  EXPECT_THAT(log_.warnings(), IsEmpty());
  EXPECT_EQ(usual_protocol("inaturalist"), "standard");
  expect_recognised();
}

TEST_F(INaturalistSet, FindsListsInTheRoot) {
  for (const char* name : {"train", "test"}) {
    const std::string file = "Inaturalist_" + std::string(name) + "_set1.txt";
    std::filesystem::rename(dir_.file("Inat_dataset_splits/" + file),
                            dir_.file(file));
  }
  EXPECT_EQ(open()->list().items.size(), 4u);
  expect_recognised();
}

TEST_F(INaturalistSet, WarnsOfClassesOnBothSides) {
  test("train_val2018/Aves/12/x.jpg\n");
  open_data_set(dir_.path());
  EXPECT_THAT(log_.warnings(), ElementsAre(HasSubstr("Aves/12")));
}

TEST_F(INaturalistSet, RefusesWrongLists) {
  const auto refused = [&](const std::string& rows, const auto&... parts) {
    SCOPED_TRACE(rows);
    test(rows);
    expect_refused("Inaturalist_test_set1.txt", parts...);
  };
  refused("", "no images");
  refused("Aves/1/a.jpg b\n", ":1", "2 words");
  refused("1/a.jpg\n", ":1", "'1/a.jpg'", "expected a path such as");
  refused("a/b/c/\n", ":1", "'a/b/c/'");
  refused("\ntrain_val2018/Aves/12/b.jpg\n", ":2", "there twice",
          "Inaturalist_train_set1.txt:2");
  remove("Inat_dataset_splits/Inaturalist_test_set1.txt");
  expect_refused(dir_.file("Inaturalist_test_set1.txt"));
  test("train_val2018/Fungi/7/d.jpg\n");
  remove("train_val2018");
  expect_refused(dir_.file("train_val2018/Plantae/5221"), "no such folder");
}

}  // namespace
}  // namespace kith
