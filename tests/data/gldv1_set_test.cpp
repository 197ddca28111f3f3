// The data set `gldv1` on a small tree of the published format.

#include <gmock/gmock.h>

#include "kith/data/published_sets.h"
#include "tests/support/set_test.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GldV1Set : public SetTest<GldV1DataSet> {
 protected:
  GldV1Set() : SetTest<GldV1DataSet>("gldv1") {
    list("aaa,\"http://x/a,b.jpg\",6\nbbb,http://y,6\r\nccc,None,7\n\n");
    write("boxes_split1.csv", "id,box\n");
    for (const char* id : {"aaa", "bbb", "ccc"}) {
      write_picture(dir_, "train/" + std::string(id) + ".jpg");
    }
  }

  void list(const std::string& rows) {
    write("train.csv", "\"id\",\"url\",\"landmark_id\"\n" + rows);
  }
};

TEST_F(GldV1Set, ReadsTheList) {
  const auto set = open();
  EXPECT_THAT(contents(*set),
              ElementsAre("train/6:train/aaa.jpg", "train/6:train/bbb.jpg",
                          "train/7:train/ccc.jpg"));
  EXPECT_EQ(set->load(2).width, 8);
  EXPECT_EQ(set->traits().published->train_images, 1060709);
  EXPECT_THAT(log_.warnings(), IsEmpty());
  expect_recognised();
}

TEST_F(GldV1Set, TakesAnotherListAndFolder) {
  write("clean.csv", "landmark_id,id\n7,ccc\n");
  std::filesystem::rename(dir_.file("train"), dir_.file("jpg"));
  EXPECT_THAT(contents(*open({.list = "clean.csv"})),
              ElementsAre("train/7:jpg/ccc.jpg"));
  std::filesystem::rename(dir_.file("jpg"), dir_.file("pictures"));
  EXPECT_EQ(open({.images = "pictures"})->list().items.size(), 3u);
  expect_refused(dir_.file("train"), "no such folder", "'gldv1.images'");
}

// As Patel et al. validate: by the queries of another set.
TEST_F(GldV1Set, MayValidateByQueriesOfSfm120k) {
  write("sfm/retrieval-SfM-120k-val-eccv2020.pkl",
        "(dVcids\n(lVaaaaaa\naVbbbbbb\nasVqidx\n(lI1\nasVgnd\n"
        "(l(dVok\n(lI0\nasVjunk\n(lsas.");
  write("sfm/ims/x", "");
  const auto set = open({.validation = "sfm"});
  EXPECT_THAT(contents(*set),
              ElementsAre("train/6:train/aaa.jpg", "train/6:train/bbb.jpg",
                          "train/7:train/ccc.jpg",
                          "validation/8:sfm/ims/aa/aa/aa/aaaaaa",
                          "validation/9:sfm/ims/bb/bb/bb/bbbbbb"));
  ASSERT_EQ(set->list().truths.size(), 1u);
  EXPECT_EQ(set->list().truths[0].query, 4);
  EXPECT_THAT(set->list().truths[0].easy, ElementsAre(3));
  expect_error<DataError>([&] { open({.validation = "elsewhere"}); },
                          "elsewhere/ims");
}

TEST_F(GldV1Set, CountsMissingImages) {
  remove("train/aaa.jpg");
  remove("train/ccc.jpg");
  expect_refused("2 of 3 images are missing", "aaa.jpg", "train.csv:2",
                 "'gldv1.missing: skip'");
  EXPECT_THAT(contents(*open({.missing = "skip"})),
              ElementsAre("train/6:train/bbb.jpg"));
  EXPECT_THAT(log_.warnings(),
              ElementsAre(HasSubstr("2 of 3 images are missing")));
  remove("train/bbb.jpg");
  expect_error<DataError>([&] { open({.missing = "skip"}); }, "3 of 3",
                          "'gldv1.images'");
}

TEST_F(GldV1Set, LeavesOutImagesWithoutALandmark) {
  list("aaa,u,None\nbbb,u,1\n");
  EXPECT_EQ(open()->list().items.size(), 1u);
  EXPECT_THAT(log_.notes(), ElementsAre(HasSubstr("1 images without a")));
}

TEST_F(GldV1Set, RefusesWrongLists) {
  const auto refused = [&](const std::string& rows, const auto&... parts) {
    SCOPED_TRACE(rows);
    list(rows);
    expect_refused("train.csv", parts...);
  };
  refused("", "no images");
  refused("aaa,u,1\nbbb,u,2\naaa,u,1\n", ":4", "there twice", "train.csv:2");
  refused("../aaa,u,1\n", ":2", "'../aaa' is not the id");
  refused("aa,u,1\n", ":2", "'aa'");
  refused("aaa,u,x\n", ":2", "landmark_id 'x'");
  refused("aaa,u\n", ":2", "3 columns");
  write("train.csv", "id,url\naaa,u\n");
  expect_refused("no column 'landmark_id'");
}

}  // namespace
}  // namespace kith
