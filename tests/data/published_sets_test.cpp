// The data sets cars196, cub200 and sop on small trees of their formats.
#include "tests/support/published_sets.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/data/check.h"
#include "kith/data/published_sets.h"
#include "tests/support/expect_error.h"
#include "tests/support/list_lines.h"
#include "tests/support/log_capture.h"
#include "tests/support/mat_writer.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PublishedSet : public ::testing::Test {
 protected:
  template <class Set>
  std::unique_ptr<DataSet> open(typename Set::Options options = {}) const {
    options.path = dir_.path();
    return std::make_unique<Set>(std::move(options));
  }

  // "split/label:path" of every image.
  std::vector<std::string> contents(const DataSet& set) const {
    return lines_of(set.list(), dir_.path());
  }

  template <class Set, typename... Parts>
  void expect_refused(const Parts&... parts) {
    expect_error<DataError>([&] { open<Set>(); }, dir_.path(), parts...);
  }

  void expect_loads(const DataSet& set) const {
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(set.load(i).width, 8) << i;
      EXPECT_EQ(set.load(i).pixels[12], 14) << i;
    }
  }

  void expect_crops(const DataSet& set) const {
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(set.load(i).width, 3);
      EXPECT_THAT(set.load(i).pixels,
                  ElementsAre(12, 13, 14, 22, 23, 24, 32, 33, 34));
    }
  }

  void remove(const std::string& path) {
    std::filesystem::remove_all(dir_.file(path));
  }

  TempDir dir_;
  LogCapture log_;
};

class Cars : public PublishedSet {};

TEST_F(Cars, ReadsOneFile) {
  for (const bool compressed : {false, true}) {
    write_cars_one_file(dir_, compressed);
    const auto set = open<Cars196DataSet>();
    EXPECT_THAT(contents(*set), ElementsAre("train/1:car_ims/00001.jpg",
                                            "test/150:car_ims/00002.jpg",
                                            "train/98:car_ims/00003.jpg",
                                            "test/196:car_ims/00004.jpg"));
    EXPECT_EQ(set->list().class_name(150), "Ram C/V 150");
    expect_loads(*set);
    expect_crops(*open<Cars196DataSet>({.crop_boxes = true}));
  }
  EXPECT_THAT(log_.warnings(), IsEmpty());
}

TEST_F(Cars, ReadsTheDevkit) {
  for (const bool compressed : {false, true}) {
    write_cars_devkit(dir_, compressed);
    const auto set = open<Cars196DataSet>();
    EXPECT_THAT(contents(*set), ElementsAre("train/1:cars_train/00001.jpg",
                                            "test/150:cars_train/00002.jpg",
                                            "train/98:cars_test/00001.jpg",
                                            "test/196:cars_test/00002.jpg"));
    EXPECT_EQ(set->list().class_name(2), "Make 2");
    expect_loads(*set);
    expect_crops(*open<Cars196DataSet>({.crop_boxes = true}));
  }
}

TEST_F(Cars, FindsTheTestLabelsBesideTheDevkit) {
  write_cars_devkit(dir_);
  const std::string name = "cars_test_annos_withlabels.mat";
  std::filesystem::rename(dir_.file("devkit/" + name), dir_.file(name));
  EXPECT_EQ(open<Cars196DataSet>()->list().items.size(), 4u);
  remove(name);
  expect_refused<Cars196DataSet>("no cars_test_annos_withlabels.mat");
}

TEST_F(Cars, ReadsTheCsvFiles) {
  write_cars_csv(dir_);
  const auto set = open<Cars196DataSet>();
  EXPECT_THAT(contents(*set),
              ElementsAre("train/1:car_data/car_data/train/Make 1/00001.jpg",
                          "test/150:car_data/car_data/train/Ram C-V 150/"
                          "00002.jpg",
                          "train/98:car_data/car_data/test/Make 98/00001.jpg",
                          "test/196:car_data/car_data/test/Make 196/"
                          "00002.jpg"));
  EXPECT_EQ(set->list().class_name(150), "Ram C/V 150");
  expect_loads(*set);
  expect_crops(*open<Cars196DataSet>({.crop_boxes = true}));
}

TEST_F(Cars, TakesTheFormWhosePicturesAreThere) {
  write_cars_one_file(dir_);
  remove("car_ims");
  expect_refused<Cars196DataSet>(dir_.file("car_ims"), "no such folder");
  write_cars_devkit(dir_);
  EXPECT_THAT(open<Cars196DataSet>()->list().items[0].path,
              HasSubstr("cars_train"));
  remove("cars_test");
  expect_refused<Cars196DataSet>(dir_.file("cars_test"), "no such folder");
}

TEST_F(Cars, SaysWhatIsExpected) {
  expect_refused<Cars196DataSet>("cars_annos.mat and car_ims/",
                                 "anno_train.csv");
  expect_error<ConfigError>(
      [] { make_data_set(parse_config("{name: cars196}", "r")); },
      "'data.path'");
  expect_error<DataError>(
      [] { make_data_set(parse_config("{name: cars196, path: /no}", "r")); },
      "/no: no such folder", "cars_annos.mat");
}

TEST_F(Cars, RefusesWrongAnnotations) {
  write_cars_one_file(dir_);
  const auto refused = [&](const std::vector<std::string>& variables,
                           const auto&... parts) {
    dir_.write("cars_annos.mat", mat_file(variables));
    expect_refused<Cars196DataSet>("cars_annos.mat", parts...);
  };
  const auto annotated = [](const std::vector<int>& classes) {
    return car_annotations(classes, "relative_im_path", "car_ims/");
  };
  refused({annotated({1, 197})}, "annotations(2)", "class 197", "1 to 196");
  refused({annotated({0})}, "annotations(1)", "class 0");
  refused({car_annotations({1}, "path", "")}, "no field 'relative_im_path'");
  refused({car_annotations({1}, "relative_im_path", "", "klass")},
          "no field 'class'");
  refused({mat_number(3, "annotations")}, "not a struct array");
  refused({mat_number(3, "other")}, "no variable 'annotations'");
  refused({annotated({1}), mat_cells({mat_text("a")}, "class_names")},
          "1 class names, expected 196");
  refused({mat_structs({"relative_im_path", "class", "bbox_x1", "bbox_y1",
                        "bbox_x2", "bbox_y2"},
                       {mat_text("a.jpg"), mat_text("1"), mat_number(1),
                        mat_number(1), mat_number(1), mat_number(1)},
                       "annotations")},
          "annotations(1)", "'class' is not a number");
  dir_.write("cars_annos.mat", "MATLAB 7.3 MAT-file");
  expect_refused<Cars196DataSet>("save it with -v7");
}

TEST_F(Cars, RefusesWrongCsvFiles) {
  write_cars_csv(dir_);
  const auto refused = [&](const std::string& text, const auto&... parts) {
    dir_.write("anno_test.csv", text);
    expect_refused<Cars196DataSet>(parts...);
  };
  refused("1.jpg,3,2,5,4,98\n2.jpg,3,2,5,x,98\n", "anno_test.csv:2", "y2 'x'");
  refused("1.jpg,3,2,5,4\n", "anno_test.csv:1", "6 columns");
  refused("1.jpg,3,2,5,4,199\n", "anno_test.csv:1", "class 199");
  refused("1.jpg,3,2,5,4,98\n1.jpg,3,2,5,4,98\n", "anno_test.csv:2",
          "there twice", "anno_test.csv:1");
  dir_.write("anno_test.csv", "1.jpg,5,2,3,4,98\n");
  expect_error<DataError>([&] { open<Cars196DataSet>({.crop_boxes = true}); },
                          "anno_test.csv:1", "box is empty");
  EXPECT_EQ(open<Cars196DataSet>()->list().items.size(), 3u);
  dir_.write("names.csv", "a\nb\n");
  expect_refused<Cars196DataSet>("names.csv", "2 class names, expected 196");
}

TEST_F(Cars, NamesAnImageWhoseBoxIsOutside) {
  write_cars_csv(dir_);
  dir_.write("anno_test.csv", "00001.jpg,50,2,60,4,98\n");
  expect_error<DataError>(
      [&] { open<Cars196DataSet>({.crop_boxes = true})->load(2); }, "00001.jpg",
      "image 2 of the list", "columns 49 to 59", "8 x 6 pixels",
      "crop_boxes: false");
  dir_.write("anno_test.csv", "00001.jpg,7,0,60,1,98\n");  // clamped
  EXPECT_THAT(open<Cars196DataSet>({.crop_boxes = true})->load(2).pixels,
              ElementsAre(6, 7));
}

class Cub : public PublishedSet {};

TEST_F(Cub, SplitsByClassWhateverTheImageSplitSays) {
  write_cub(dir_);
  const auto set = open<Cub200DataSet>();
  EXPECT_THAT(contents(*set),
              ElementsAre("train/1:images/001.Albatross/A_0001.jpg",
                          "train/100:images/100.Pelican/P_0002.jpg",
                          "test/101:images/101.Pelican/P_0003.jpg",
                          "test/200:images/200.Yellowthroat/Y_0004.jpg"));
  EXPECT_EQ(set->list().class_name(1), "001.Albatross");
  expect_loads(*set);
  expect_crops(*open<Cub200DataSet>({.crop_boxes = true}));
  EXPECT_THAT(log_.warnings(), IsEmpty());
}

TEST_F(Cub, LeavesOutWhatArchiversLeaveBehind) {
  write_cub(dir_);
  dir_.write("images.txt",
             "1 001.Albatross/._A_0001.jpg\n2 100.Pelican/P_0002.jpg\n"
             "3 101.Pelican/P_0003.jpg\n4 200.Yellowthroat/Y_0004.jpg\n");
  EXPECT_EQ(open<Cub200DataSet>({.crop_boxes = true})->list().items.size(), 3u);
  EXPECT_THAT(log_.notes(), ElementsAre(AllOf(HasSubstr("images.txt:1"),
                                              HasSubstr("left out"))));
}

TEST_F(Cub, RefusesFilesThatDoNotFit) {
  const auto refused = [&](const std::string& file, const std::string& text,
                           const auto&... parts) {
    SCOPED_TRACE(file + ": " + text);
    write_cub(dir_);
    dir_.write(file, text);
    expect_error<DataError>([&] { open<Cub200DataSet>({.crop_boxes = true}); },
                            dir_.file(file), parts...);
  };
  const std::string labels = "image_class_labels.txt";
  refused(labels, "1 1\n2 100\n3 101\n", "no row for id 4");
  refused(labels, "1 1\n2 100\n3 101\n4 200\n5 1\n", ":5:", "id 5",
          "not in images.txt");
  refused(labels, "1 1\n2 100\n3 101\n3 200\n", ":4:", "id 3", "twice");
  refused(labels, "1 1\n2 100\n3 101\n4 2\n", ":4:", "class 2", "classes.txt");
  refused(labels, "1 1\n2 x\n3 101\n4 200\n", ":2:", "'x'", "integer");
  refused(labels, "1  1\n", ":1:", "2 columns");
  refused("images.txt", "1 a.jpg\n2 a.jpg\n", ":2:", "'a.jpg'", "id 1");
  refused("images.txt", "", "no rows");
  refused("images.txt", "one a.jpg\n", ":1:", "'one'");
  refused("classes.txt", "201 x\n", ":1:", "class 201", "1 to 200");
  refused("bounding_boxes.txt", "1 2 1 3 3\n2 2 1 0 3\n3 2 1 3 3\n4 2 1 3 3\n",
          ":2:", "empty");
  refused("bounding_boxes.txt", "1 2 1 3 wide\n", ":1:", "height", "'wide'");
  refused("bounding_boxes.txt", "1 2 1 3 1e9\n", ":1:", "beyond any picture");
}

TEST_F(Cub, SaysWhatIsMissing) {
  expect_refused<Cub200DataSet>(dir_.file("images"), "no such folder");
  write_cub(dir_);
  remove("classes.txt");
  expect_refused<Cub200DataSet>(dir_.file("classes.txt"), "No such file");
}

class Products : public PublishedSet {};

TEST_F(Products, ReadsBothLayouts) {
  struct Layout {
    std::string lists, images;
  };
  for (const Layout& layout :
       {Layout{"", ""}, {"", "images/"}, {"Info_Files/", "images/"}}) {
    SCOPED_TRACE(layout.lists + layout.images);
    write_sop(dir_, layout.lists, layout.images);
    const auto set = open<SopDataSet>();
    EXPECT_THAT(
        contents(*set),
        ElementsAre("train/1:" + layout.images + "bicycle_final/111_0.JPG",
                    "train/1:" + layout.images + "bicycle_final/111_1.JPG",
                    "test/11319:" + layout.images + "bicycle_final/251_0.JPG",
                    "test/11320:" + layout.images + "table_final/360_0.JPG"));
    EXPECT_EQ(set->list().items[3].category, "table");
    expect_loads(*set);
    for (const char* path : {"bicycle_final", "table_final", "images",
                             "Ebay_train.txt", "Ebay_test.txt"}) {
      remove(path);
    }
  }
}

TEST_F(Products, RefusesWrongLists) {
  write_sop(dir_, "", "");
  const std::string header = "image_id class_id super_class_id path\n";
  const auto refused = [&](const std::string& text, const auto&... parts) {
    SCOPED_TRACE(text);
    dir_.write("Ebay_test.txt", text);
    expect_refused<SopDataSet>("Ebay_test.txt", parts...);
  };
  refused(header, "no rows");
  refused("image_id class_id path\n3 1 a.jpg\n", "super_class_id");
  refused(header + "3 9 1 a.jpg\n3 9 1 b.jpg\n", ":3:", "image_id '3'",
          "Ebay_test.txt:2");
  refused(header + "1 9 1 a.jpg\n", ":2:", "Ebay_train.txt:2");
  refused(header + "3 9 1 bicycle_final/111_0.JPG\n", ":2:", "path",
          "Ebay_train.txt:2");
  refused(header + "3 nine 1 a.jpg\n", ":2:", "class_id 'nine'");
  refused(header + "3 0 1 a.jpg\n", ":2:", "class_id is 0");
  refused(header + "3 9 1 a b.jpg\n", ":2:", "4 columns");
  remove("Ebay_test.txt");
  expect_refused<SopDataSet>("Ebay_test.txt", "No such file");
  write_sop(dir_, "", "");
  remove("bicycle_final");
  expect_refused<SopDataSet>(dir_.file("bicycle_final"), "no such folder");
}

TEST_F(Products, WarnsOfClassesOnBothSides) {
  write_sop(dir_, "", "");
  dir_.write("Ebay_test.txt",
             "image_id class_id super_class_id path\n"
             "3 1 1 bicycle_final/251_0.JPG\n");
  open_data_set(dir_.path());
  EXPECT_THAT(log_.warnings(), ElementsAre(HasSubstr("1 classes are both")));
}

TEST_F(PublishedSet, IsRecognisedByItsFiles) {
  const auto recognised = [](const auto& write) {
    const TempDir dir;
    write(dir);
    const auto published = open_data_set(dir.path())->traits().published;
    return published ? published->train_images : 0;
  };
  EXPECT_EQ(recognised([](auto& dir) { write_cars_one_file(dir); }), 8054);
  EXPECT_EQ(recognised([](auto& dir) { write_cars_devkit(dir); }), 8054);
  EXPECT_EQ(recognised([](auto& dir) { write_cars_csv(dir); }), 8054);
  EXPECT_EQ(recognised([](auto& dir) { write_cub(dir); }), 5864);
  EXPECT_EQ(recognised([](auto& dir) { write_sop(dir, "", ""); }), 59551);
  EXPECT_EQ(
      recognised([](auto& dir) { write_sop(dir, "Info_Files/", "images/"); }),
      59551);
}

TEST_F(PublishedSet, IsNotGuessedWhereSeveralFit) {
  write_cub(dir_);
  dir_.write("df.csv", "");
  expect_error<ConfigError>([&] { open_data_set(dir_.path()); }, dir_.path(),
                            "cub200, oml", "data: {name: ");
  dir_.write("dataset.csv", "path,label,split\na.png,1,train\n");
  EXPECT_EQ(open_data_set(dir_.path())->list().items.size(), 1u);
}

TEST_F(PublishedSet, ComparesItsCountsWithThePublishedOnes) {
  write_cub(dir_);
  EXPECT_THAT(
      published_differences(*open<Cub200DataSet>()),
      ElementsAre(
          AllOf(HasSubstr("the train split has 2 images"),
                HasSubstr("published number is 5864")),
          HasSubstr(
              "train split has 2 classes, but the published number is 100"),
          HasSubstr("the test split has 2 images"),
          HasSubstr("the test split has 2 classes")));
  EXPECT_THAT(published_differences(*make_file_set({"a.png"})), IsEmpty());
}

/// As many rows as published, without pictures.
TEST_F(PublishedSet, EqualsThePublishedCounts) {
  std::string images;
  std::string labels;
  std::string classes;
  int id = 0;
  for (int label = 1; label <= 200; ++label) {
    classes += std::to_string(label) + " c" + std::to_string(label) + "\n";
    const int count = label == 1     ? 5864 - 99 * 59
                      : label <= 100 ? 59
                      : label == 101 ? 5924 - 99 * 59
                                     : 59;
    for (int i = 0; i < count; ++i) {
      ++id;
      images += std::to_string(id) + " " + std::to_string(id) + ".jpg\n";
      labels += std::to_string(id) + " " + std::to_string(label) + "\n";
    }
  }
  std::filesystem::create_directory(dir_.file("images"));
  dir_.write("images.txt", images);
  dir_.write("image_class_labels.txt", labels);
  dir_.write("classes.txt", classes);
  EXPECT_THAT(published_differences(*open<Cub200DataSet>()), IsEmpty());
}

}  // namespace
}  // namespace kith
