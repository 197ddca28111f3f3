#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temp_dir.h"

namespace kith {

/// Small trees of files in the formats in which data sets are published. Each
/// has four pictures of 8 x 6 pixels, of which pixel (x, y) is 10 y + x, and
/// whose annotated box is columns 2 to 4, rows 1 to 3.

/// A file and the folders above it.
void write_in_tree(const TempDir& dir, const std::string& path,
                   std::string_view contents);
void write_picture(const TempDir& dir, const std::string& path);

/// "Make 1" to "Make 196"; number 150 is "Ram C/V 150".
std::vector<std::string> car_class_names();

/// The variable `annotations` with these classes; pictures are named
/// `folder`00001.jpg and so on. `path_field` and `class_field` are the names of
/// these two fields.
std::string car_annotations(const std::vector<int>& classes,
                            const std::string& path_field,
                            const std::string& folder,
                            const std::string& class_field = "class");
/// The variable `class_names`.
std::string car_names_variable();

/// Cars196, classes 1 and 150 in the published training images, 98 and 196 in
/// the published test images.
void write_cars_one_file(const TempDir& dir, bool compressed = false);
void write_cars_devkit(const TempDir& dir, bool compressed = false);
void write_cars_csv(const TempDir& dir);

/// CUB-200-2011, classes 1, 100, 101, 200.
void write_cub(const TempDir& dir);

/// Stanford Online Products: lists in `lists` and pictures in `images`, both ""
/// or ending in a slash.
void write_sop(const TempDir& dir, const std::string& lists,
               const std::string& images);

}  // namespace kith
