#include "tests/support/published_sets.h"

#include <filesystem>

#include "kith/image/encode.h"
#include "tests/support/mat_writer.h"

namespace kith {
namespace {

void make_folders(const TempDir& dir, const std::string& path) {
  std::filesystem::create_directories(
      std::filesystem::path(dir.file(path)).parent_path());
}

}  // namespace

void write_in_tree(const TempDir& dir, const std::string& path,
                   std::string_view contents) {
  make_folders(dir, path);
  dir.write(path, contents);
}

void write_picture(const TempDir& dir, const std::string& path) {
  make_folders(dir, path);
  Image image(8, 6, 1);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      image.row(y)[x] = static_cast<uint8_t>(10 * y + x);
    }
  }
  write_png(dir.file(path), image);
}

std::vector<std::string> car_class_names() {
  std::vector<std::string> names;
  for (int i = 1; i <= 196; ++i) {
    names.push_back((i == 150 ? "Ram C/V " : "Make ") + std::to_string(i));
  }
  return names;
}

std::string car_annotations(const std::vector<int>& classes,
                            const std::string& path_field,
                            const std::string& folder,
                            const std::string& class_field) {
  std::vector<std::string> values;
  for (size_t i = 0; i < classes.size(); ++i) {
    values.insert(values.end(),
                  {mat_text(folder + "0000" + std::to_string(i + 1) + ".jpg"),
                   mat_number(3), mat_number(2), mat_number(5), mat_number(4),
                   mat_number(static_cast<uint16_t>(classes[i]))});
  }
  return mat_structs(
      {path_field, "bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", class_field},
      values, "annotations");
}

std::string car_names_variable() {
  std::vector<std::string> cells;
  for (const std::string& name : car_class_names()) {
    cells.push_back(mat_text(name));
  }
  return mat_cells(cells, "class_names");
}

void write_cars_one_file(const TempDir& dir, bool compressed) {
  write_in_tree(dir, "cars_annos.mat",
                mat_file({car_annotations({1, 150, 98, 196}, "relative_im_path",
                                          "car_ims/"),
                          car_names_variable()},
                         compressed));
  for (const char* name : {"1", "2", "3", "4"}) {
    write_picture(dir, "car_ims/0000" + std::string(name) + ".jpg");
  }
}

void write_cars_devkit(const TempDir& dir, bool compressed) {
  const auto write = [&](const std::string& path, const std::string& variable) {
    write_in_tree(dir, path, mat_file({variable}, compressed));
  };
  write("devkit/cars_meta.mat", car_names_variable());
  write("devkit/cars_train_annos.mat", car_annotations({1, 150}, "fname", ""));
  write("devkit/cars_test_annos_withlabels.mat",
        car_annotations({98, 196}, "fname", ""));
  for (const char* path : {"cars_train/00001.jpg", "cars_train/00002.jpg",
                           "cars_test/00001.jpg", "cars_test/00002.jpg"}) {
    write_picture(dir, path);
  }
}

void write_cars_csv(const TempDir& dir) {
  std::string names;
  for (const std::string& name : car_class_names()) names += name + "\n";
  write_in_tree(dir, "names.csv", names);
  write_in_tree(dir, "anno_train.csv",
                "00001.jpg,3,2,5,4,1\n00002.jpg,3,2,5,4,150\n");
  write_in_tree(dir, "anno_test.csv",
                "00001.jpg,3,2,5,4,98\n00002.jpg,3,2,5,4,196\n");
  for (const char* path :
       {"train/Make 1/00001.jpg", "train/Ram C-V 150/00002.jpg",
        "test/Make 98/00001.jpg", "test/Make 196/00002.jpg"}) {
    write_picture(dir, "car_data/car_data/" + std::string(path));
  }
}

void write_cub(const TempDir& dir) {
  dir.write("images.txt",
            "1 001.Albatross/A_0001.jpg\n2 100.Pelican/P_0002.jpg\n"
            "3 101.Pelican/P_0003.jpg\n4 200.Yellowthroat/Y_0004.jpg\n");
  dir.write("image_class_labels.txt", "1 1\n2 100\n3 101\n4 200\n");
  dir.write("classes.txt",
            "1 001.Albatross\n100 100.Pelican\n101 101.Pelican\n"
            "200 200.Yellowthroat\n");
  dir.write("train_test_split.txt", "1 0\n2 1\n3 0\n4 1\n");
  dir.write("bounding_boxes.txt",
            "1 2.0 1.0 3.0 3.0\n2 2.0 1.0 3.0 3.0\n3 2.0 1.0 3.0 3.0\n"
            "4 2.0 1.0 3.0 3.0\n");
  for (const char* path :
       {"001.Albatross/A_0001.jpg", "100.Pelican/P_0002.jpg",
        "101.Pelican/P_0003.jpg", "200.Yellowthroat/Y_0004.jpg"}) {
    write_picture(dir, "images/" + std::string(path));
  }
}

void write_sop(const TempDir& dir, const std::string& lists,
               const std::string& images) {
  const std::string header = "image_id class_id super_class_id path\n";
  write_in_tree(dir, lists + "Ebay_train.txt",
                header +
                    "1 1 1 bicycle_final/111_0.JPG\n"
                    "2 1 1 bicycle_final/111_1.JPG\n");
  write_in_tree(dir, lists + "Ebay_test.txt",
                header +
                    "3 11319 1 bicycle_final/251_0.JPG\n"
                    "4 11320 11 table_final/360_0.JPG\n");
  for (const char* path :
       {"bicycle_final/111_0.JPG", "bicycle_final/111_1.JPG",
        "bicycle_final/251_0.JPG", "table_final/360_0.JPG"}) {
    write_picture(dir, images + path);
  }
}

}  // namespace kith
