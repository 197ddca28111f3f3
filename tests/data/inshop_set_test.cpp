// The data set `inshop` on a small tree of the published format.

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

const char* const kHeader = "image_name item_id evaluation_status\n";
const char* const kRows =
    "img/WOMEN/Dresses/id_00000002/02_1_front.jpg    id_00000002 train\n"
    "img/WOMEN/Dresses/id_00000002/02_2_side.jpg     id_00000002 train\n"
    "img/MEN/Denim/id_00000080/01_1_front.jpg        id_00000080 query\n"
    "img/MEN/Denim/id_00000080/01_2_side.jpg         id_00000080 gallery\n";
const char* const kBoxHeader =
    "image_name clothes_type pose_type x_1 y_1 x_2 y_2\n";

class InShopSet : public SetTest<InShopDataSet> {
 protected:
  InShopSet() : SetTest<InShopDataSet>("inshop") {
    write("Eval/list_eval_partition.txt", std::string("4\n") + kHeader + kRows);
    std::string boxes = std::string("5\n") + kBoxHeader;
    for (const char* path : {"WOMEN/Dresses/id_00000002/02_1_front.jpg",
                             "WOMEN/Dresses/id_00000002/02_2_side.jpg",
                             "MEN/Denim/id_00000080/01_1_front.jpg",
                             "MEN/Denim/id_00000080/01_2_side.jpg"}) {
      write_picture(dir_, "img/" + std::string(path));
      boxes += "img/" + std::string(path) + "   1 1   002 001 005 004\n";
    }
    write("Anno/list_bbox_inshop.txt", boxes + "img/x/y/z.jpg 1 1 0 0 1 1\n");
  }

  template <typename... Parts>
  void list_refused(const std::string& list, const Parts&... parts) {
    SCOPED_TRACE(list);
    write("Eval/list_eval_partition.txt", list);
    expect_refused(dir_.file("Eval/list_eval_partition.txt"), parts...);
  }
};

TEST_F(InShopSet, ReadsTheThreeParts) {
  const auto set = open();
  EXPECT_THAT(
      contents(*set),
      ElementsAre("train/2:img/WOMEN/Dresses/id_00000002/02_1_front.jpg",
                  "train/2:img/WOMEN/Dresses/id_00000002/02_2_side.jpg",
                  "test/80:img/MEN/Denim/id_00000080/01_1_front.jpg",
                  "test/80:img/MEN/Denim/id_00000080/01_2_side.jpg"));
  const ImageList& list = set->list();
  EXPECT_TRUE(list.has_query_gallery);
  // Held out for validation, training images are queries and gallery.
  EXPECT_TRUE(list.items[0].is_query && list.items[0].is_gallery);
  EXPECT_TRUE(list.items[2].is_query && !list.items[2].is_gallery);
  EXPECT_TRUE(!list.items[3].is_query && list.items[3].is_gallery);
  EXPECT_EQ(list.items[0].category, "WOMEN/Dresses");
  EXPECT_EQ(list.class_name(80), "id_00000080");
  EXPECT_EQ(set->load(0).width, 8);
  EXPECT_THAT(log_.warnings(), IsEmpty());
  EXPECT_EQ(usual_protocol("inshop"), "inshop");
  expect_recognised();
}

TEST_F(InShopSet, CropsToBoxes) {
  const auto set = open({.crop_boxes = true});
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_THAT(set->load(i).pixels,
                ElementsAre(12, 13, 14, 22, 23, 24, 32, 33, 34));
  }
}

TEST_F(InShopSet, AcceptsOtherLayouts) {
  remove("Eval");
  write("list_eval_partition.txt",
        "\r\n4\r\nimage_name   item_id  evaluation_status\r\n" +
            std::string(kRows) + "\r\n\r\n");
  EXPECT_EQ(open()->list().items.size(), 4u);
  expect_recognised();
  std::filesystem::rename(dir_.file("img"), dir_.file("img_highres"));
  EXPECT_THAT(open()->list().items[0].path, HasSubstr("/img_highres/WOMEN"));
  EXPECT_THAT(log_.notes(), Contains(HasSubstr("img_highres")));
  expect_error<ConfigError>([&] { open({.crop_boxes = true}); },
                            "'inshop.crop_boxes'", "do not fit");
  expect_error<DataError>([&] { open({.images = "img"}); }, "no folder img");
  std::filesystem::create_directory(dir_.file("Img"));
  std::filesystem::rename(dir_.file("img_highres"), dir_.file("Img/img"));
  EXPECT_EQ(open({.images = "img"})->load(0).width, 8);
  remove("Img");
  expect_refused("no folder img or img_highres");
}

TEST_F(InShopSet, RefusesWrongLists) {
  const std::string start = std::string("1\n") + kHeader;
  list_refused("", "the file is empty");
  list_refused(kHeader, ":1", "<number of images>");
  list_refused("x\n", ":1", "'x' is not an integer");
  list_refused(
      "1\nimage_pair_name_1 image_pair_name_2 item_id "
      "evaluation_status\n",
      ":2", "expected the header 'image_name");
  list_refused(std::string("5\n") + kHeader + kRows, ":1", "says 5 images",
               "has 4");
  list_refused(std::string("0\n") + kHeader, "has 0");
  list_refused(start + "img/a/b/c/d.jpg id_1\n", ":3", "got 2 words");
  list_refused(start + "img/a/b/c/d.jpg id_1 val\n", ":3", "status 'val'",
               "train, query or gallery");
  list_refused(start + "img/a/b/c/d.jpg 12 train\n", ":3", "item '12'");
  list_refused(start + "img/a/b/c/d.jpg id_x train\n", ":3", "'x'");
  list_refused(start + "a/b/c/d.jpg id_1 train\n", ":3", "start with img/");
  list_refused("2\n" + std::string(kHeader) +
                   "img/a/b/c/d.jpg id_1 train\nimg/a/b/c/d.jpg id_1 query\n",
               ":4", "there twice", ":3");
  remove("Eval");
  expect_refused("neither Eval/list_eval_partition.txt");
}

TEST_F(InShopSet, RefusesWrongBoxes) {
  const auto refused = [&](const std::string& rows, const auto&... parts) {
    SCOPED_TRACE(rows);
    write("Anno/list_bbox_inshop.txt", rows);
    expect_error<DataError>([&] { open({.crop_boxes = true}); },
                            dir_.file("Anno/list_bbox_inshop.txt"), parts...);
  };
  const std::string start = std::string("1\n") + kBoxHeader;
  const std::string path = "img/MEN/Denim/id_00000080/01_1_front.jpg";
  refused(start + path + " 1 1 2 1 5 4\n", "no box of", "02_1_front.jpg");
  refused(start + path + " 1 1 2 1 2 4\n", ":3", "the box is empty");
  refused(start + path + " 1 1 2 1 5 x\n", ":3", "y_2 'x'");
  refused(start + path + " 1 1 2 1 5 9999999\n", ":3", "beyond any picture");
  refused(start + path + " 1 2 1 5 4\n", ":3", "got 6 words");
  refused("2\n" + start.substr(2) + path + " 1 1 2 1 5 4\n" + path +
              " 1 1 2 1 5 4\n",
          ":4", "second box");
  refused(std::string("1\n") + kHeader, ":2", "expected the header");
}

/// As many rows as published, without pictures.
TEST_F(InShopSet, EqualsThePublishedCounts) {
  std::string rows;
  int image = 0;
  const auto add = [&](int count, int first_id, int ids, const char* status) {
    for (int i = 0; i < count; ++i) {
      const std::string id = "id_" + std::to_string(first_id + i % ids);
      rows += "img/A/B/" + id + "/" + std::to_string(image++) + ".jpg " + id +
              " " + status + "\n";
    }
  };
  add(25882, 1, 3997, "train");
  add(14218, 4000, 3985, "query");
  add(12612, 4000, 3985, "gallery");
  write("Eval/list_eval_partition.txt",
        "52712\n" + std::string(kHeader) + rows);
  EXPECT_THAT(published_differences(*open()), IsEmpty());
}

}  // namespace
}  // namespace kith
