// The data set `gldv2` on a small tree of the published format.

#include <gmock/gmock.h>

#include "kith/data/published_sets.h"
#include "tests/support/set_test.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GldV2Set : public SetTest<GldV2DataSet> {
 protected:
  GldV2Set() : SetTest<GldV2DataSet>("gldv2") {
    write("train.csv",
          "id,url,landmark_id\nabc1,u,5\nabd2,\"u,v\",5\nxyz3,,9\n");
    write("train_clean.csv", "landmark_id,images\n5,abc1 abd2\n9,xyz3\n");
    write("index.csv", "id\nia1\nib2\nic3\n");
    solution("qa1,None,Ignored\nqb2,ic3 ia1,Public\nqc3,ib2,Private\n");
    for (const char* path : {"train/a/b/c/abc1.jpg", "index/i/a/1/ia1.jpg",
                             "test/q/b/2/qb2.jpg"}) {
      write_picture(dir_, path);
    }
  }

  void solution(const std::string& rows) {
    write("retrieval_solution_v2.1.csv", "id,images,Usage\n" + rows);
  }
};

TEST_F(GldV2Set, ReadsTrainingIndexAndQueries) {
  const auto set = open();
  EXPECT_THAT(
      contents(*set),
      ElementsAre("train/5:train/a/b/c/abc1.jpg",
                  "train/5:train/a/b/d/abd2.jpg",
                  "train/9:train/x/y/z/xyz3.jpg", "test/13:index/i/a/1/ia1.jpg",
                  "test/14:index/i/b/2/ib2.jpg", "test/15:index/i/c/3/ic3.jpg",
                  "test/16:test/q/b/2/qb2.jpg", "test/17:test/q/c/3/qc3.jpg"));
  const ImageList& list = set->list();
  EXPECT_TRUE(list.has_query_gallery);
  EXPECT_TRUE(list.items[3].is_gallery && !list.items[3].is_query);
  EXPECT_TRUE(!list.items[6].is_gallery && list.items[6].is_query);
  ASSERT_EQ(list.truths.size(), 2u);
  EXPECT_EQ(list.truths[0].query, 6);
  EXPECT_THAT(list.truths[0].easy, ElementsAre(3, 5));
  EXPECT_THAT(list.truths[1].easy, ElementsAre(4));
  EXPECT_THAT(list.lists.at("public"), ElementsAre(6));
  EXPECT_THAT(list.lists.at("private"), ElementsAre(7));
  EXPECT_EQ(set->load(6).width, 8);
  EXPECT_EQ(set->traits().published->train_classes, 81313);
  EXPECT_THAT(log_.warnings(), IsEmpty());
  EXPECT_EQ(usual_protocol("gldv2"), "gldv2");
  expect_recognised();
}

TEST_F(GldV2Set, ReadsTheWholeTrainingList) {
  const auto set = open({.clean = false});
  EXPECT_EQ(set->list().of_split(Split::kTrain).size(), 3u);
  EXPECT_EQ(set->list().items[2].label, 9);
  EXPECT_EQ(set->traits().published->train_images, 4132914);
}

TEST_F(GldV2Set, FindsListsBesideTheImages) {
  for (const auto& [name, folder] :
       {std::pair{"train_clean.csv", "train/"},
        {"index.csv", "index/"},
        {"retrieval_solution_v2.1.csv", "test/"}}) {
    std::filesystem::rename(dir_.file(name), dir_.file(folder) + name);
  }
  EXPECT_EQ(open()->list().items.size(), 8u);
  expect_recognised();
}

TEST_F(GldV2Set, WorksWithoutEitherSplit) {
  remove("train_clean.csv");
  const auto test = open();
  EXPECT_EQ(test->list().items.size(), 5u);
  EXPECT_EQ(test->traits().published->train_images, 0);
  write("train_clean.csv", "landmark_id,images\n5,abc1\n");
  remove("retrieval_solution_v2.1.csv");
  EXPECT_EQ(open()->list().items.size(), 1u);
  EXPECT_FALSE(open()->list().has_query_gallery);
  remove("train_clean.csv");
  expect_refused("neither train_clean.csv", "'gldv2.clean'");
}

TEST_F(GldV2Set, RefusesWrongTrainingLists) {
  const auto refused = [&](const std::string& rows, const auto&... parts) {
    SCOPED_TRACE(rows);
    write("train_clean.csv", "landmark_id,images\n" + rows);
    expect_refused("train_clean.csv", parts...);
  };
  refused("", "no images");
  refused("5,\n", ":2", "names no images");
  refused("5,abc1 a/b\n", ":2", "'a/b'");
  refused("x,abc1\n", ":2", "landmark_id 'x'");
  refused("-1,abc1\n", ":2", "landmark_id -1");
  refused("5,abc1\n6,abd2 abc1\n", ":3", "there twice", "train_clean.csv:2");
}

TEST_F(GldV2Set, RefusesWrongSolutions) {
  const auto refused = [&](const std::string& rows, const auto&... parts) {
    SCOPED_TRACE(rows);
    solution(rows);
    expect_refused("retrieval_solution_v2.1.csv", parts...);
  };
  refused("qa1,None,Ignored\n", "no query has right answers");
  refused("qa1,ia1,Open\n", ":2", "Usage 'Open'");
  refused("qa1,zzz,Public\n", ":2", "'zzz' is not in index.csv");
  refused("qa1,ia1,Public\nqa1,ib2,Public\n", ":3", "there twice");
  refused("../x,ia1,Public\n", ":2", "'../x'");
  solution("qb2,ia1,Public\n");
  write("index.csv", "id\nia1\nia1\n");
  expect_refused("index.csv:3", "there twice", "index.csv:2");
  remove("index.csv");
  expect_refused("needs index.csv");
  write("index.csv", "id\nia1\n");
  remove("index");
  expect_refused(dir_.file("index"), "no such folder");
}

}  // namespace
}  // namespace kith
