#include "kith/io/mat.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/mat_writer.h"
#include "tests/support/paths.h"
#include "tests/support/raw_images.h"

namespace kith {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using MatKind = MatValue::Kind;

MatValue parse_one(const std::string& variable, const MatLimits& limits = {}) {
  return parse_mat(mat_file({variable}), "x.mat", {"v"}, limits).at("v");
}

/// Two annotations of three fields, and a cell array of names.
std::vector<std::string> small_variables() {
  return {mat_structs({"fname", "class", "bbox_x1"},
                      {mat_text("00001.jpg"), mat_number(7), mat_number(300),
                       mat_text("2.jpg"), mat_number(196), mat_number(1)},
                      "annotations"),
          mat_cells({mat_text("Audi A5"), mat_text("")}, "class_names")};
}

void expect_small_variables(const std::map<std::string, MatValue>& found) {
  const MatValue& annotations = found.at("annotations");
  EXPECT_EQ(annotations.kind, MatKind::kStruct);
  EXPECT_EQ(annotations.count(), 2u);
  EXPECT_THAT(annotations.fields, ElementsAre("fname", "class", "bbox_x1"));
  EXPECT_EQ(annotations.field(0, "fname")->text, "00001.jpg");
  EXPECT_EQ(annotations.field(1, "fname")->text, "2.jpg");
  EXPECT_THAT(annotations.field(1, "class")->numbers, ElementsAre(196));
  EXPECT_THAT(annotations.field(0, "bbox_x1")->numbers, ElementsAre(300));
  EXPECT_EQ(annotations.field(0, "bbox"), nullptr);
  EXPECT_EQ(annotations.field(2, "class"), nullptr);
  const MatValue& names = found.at("class_names");
  EXPECT_EQ(names.kind, MatKind::kCell);
  ASSERT_EQ(names.values.size(), 2u);
  EXPECT_EQ(names.values[0].text, "Audi A5");
  EXPECT_EQ(names.values[1].text, "");
}

TEST(Mat, ReadsStructsAndCellsCompressedOrNot) {
  for (const bool compressed : {false, true}) {
    expect_small_variables(parse_mat(mat_file(small_variables(), compressed),
                                     "x.mat", {"annotations", "class_names"}));
  }
}

TEST(Mat, ReadsOnlyWhatIsAskedFor) {
  std::vector<std::string> variables = small_variables();
  // An object of MATLAB's own has no size.
  variables.push_back(
      mat_element(14, mat_element(6, std::string("\x11\0\0\0\0\0\0\0", 8)) +
                          mat_element(1, "strange") + "anything"));
  const auto found = parse_mat(mat_file(variables), "x.mat", {"no", "yes"});
  EXPECT_TRUE(found.empty());
  EXPECT_TRUE(parse_mat(mat_file({}), "x.mat", {"no"}).empty());
  expect_error<DataError>(
      [&] { parse_mat(mat_file(variables), "x.mat", {"strange"}); },
      "'strange'", "class that is not read (17)");
}

// Written by scipy.io.savemat(..., do_compression=True), scipy 1.10.1.
TEST(Mat, ReadsAFileOfScipy) {
  const auto found = read_mat(golden_dir() + "/mat/annotations.mat",
                              {"annotations", "class_names", "matrix", "i64",
                               "flag", "single", "empty"});
  EXPECT_EQ(found.size(), 7u);
  const MatValue& annotations = found.at("annotations");
  ASSERT_EQ(annotations.count(), 3u);
  EXPECT_THAT(annotations.fields,
              ElementsAre("relative_im_path", "bbox_x1", "bbox_y1", "bbox_x2",
                          "bbox_y2", "class", "test"));
  EXPECT_EQ(annotations.field(1, "relative_im_path")->text,
            "car_ims/000002.jpg");
  const std::vector<std::vector<double>> rows = {{112, 7, 853, 717, 1, 0},
                                                 {48, 24, 441, 202, 99, 1},
                                                 {7, 4, 277, 180, 196, 1}};
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t f = 0; f < rows[i].size(); ++f) {
      EXPECT_THAT(annotations.field(i, annotations.fields[f + 1])->numbers,
                  ElementsAre(rows[i][f]));
    }
  }
  const MatValue& names = found.at("class_names");
  ASSERT_EQ(names.values.size(), 3u);
  EXPECT_EQ(names.values[0].text, "AM General Hummer SUV 2000");
  EXPECT_EQ(names.values[1].text, "Citro\xc3\xabn C4");
  EXPECT_EQ(names.values[2].text, "abc");
  EXPECT_THAT(found.at("matrix").shape, ElementsAre(2, 3));
  EXPECT_THAT(found.at("matrix").numbers,
              ElementsAre(1.5, 4, -2, 5, 3e10, 6));  // column by column
  EXPECT_THAT(found.at("i64").numbers, ElementsAre(-9007199254740992., 7));
  EXPECT_THAT(found.at("flag").numbers, ElementsAre(1, 0));
  EXPECT_THAT(found.at("single").numbers, ElementsAre(0.25));
  EXPECT_THAT(found.at("empty").shape, ElementsAre(0, 3));
  EXPECT_THAT(found.at("empty").numbers, IsEmpty());
  expect_error<DataError>(
      [] { read_mat(golden_dir() + "/mat/annotations.mat", {"complex"}); },
      "annotations.mat", "complex numbers");
}

TEST(Mat, ReadsTextOfEveryEncoding) {
  const auto text = [](uint32_t type, const std::string& data) {
    return parse_one(mat_array(4, {1, 1}, "v", mat_element(type, data))).text;
  };
  EXPECT_EQ(text(16, "\xc3\xab"), "\xc3\xab");
  EXPECT_EQ(text(2, "\xeb"), "\xc3\xab");
  EXPECT_EQ(text(17, std::string("\xac\x20", 2)), "\xe2\x82\xac");
  EXPECT_EQ(text(17, "\x3d\xd8\x97\xde"), "\xf0\x9f\x9a\x97");  // a pair
  EXPECT_EQ(text(17, "\x3d\xd8"), "\xef\xbf\xbd");              // half of one
  EXPECT_EQ(text(18, std::string("\x97\xf6\x01\x00", 4)), "\xf0\x9f\x9a\x97");
}

TEST(Mat, ReadsLongFormsOfSmallElements) {
  const std::string variable =
      mat_array(6, {1, 2}, "v", mat_element(2, "\x05\x06", false));
  EXPECT_THAT(parse_one(variable).numbers, ElementsAre(5, 6));
}

TEST(Mat, ReadsAnEmptyElementAsAnEmptyArray) {
  const MatValue value = parse_one(mat_cells({mat_element(14, "")}, "v"));
  ASSERT_EQ(value.values.size(), 1u);
  EXPECT_THAT(value.values[0].numbers, IsEmpty());
}

TEST(Mat, RefusesOtherKindsOfFiles) {
  const auto refused = [](std::string bytes, const char* reason) {
    expect_error<DataError>([&] { parse_mat(bytes, "x.mat", {"v"}); }, "x.mat",
                            reason);
  };
  std::string v73 = "MATLAB 7.3 MAT-file, Platform: GLNXA64";
  refused(v73, "is a MATLAB 7.3 (HDF5) file; save it with -v7");
  refused("\x89HDF\r\n", "is a MATLAB 7.3 (HDF5) file; save it with -v7");
  refused("", "128 bytes");
  refused(std::string(200, '\0'), "not a MATLAB 5 file");
  std::string big = mat_file({});
  big.replace(124, 4, std::string("\x01\0MI", 4));
  refused(big, "big-endian");
}

TEST(Mat, RefusesWhatIsNotRead) {
  const auto refused = [](const std::string& variable, const char* reason) {
    expect_error<DataError>([&] { parse_one(variable); }, "x.mat", reason);
  };
  refused(mat_array(5, {1, 1}, "v", ""), "class that is not read (5)");
  refused(mat_array(4, {2, 2}, "v", mat_element(16, "abcd")), "several rows");
  refused(mat_array(6, {1, 3}, "v", mat_element(2, "ab")),
          "differs from its size");
  refused(mat_array(6, {1, -1}, "v", mat_element(2, "ab")), "negative");
  refused(mat_array(6, {1, 2}, "v", mat_element(14, "ab")), "unknown type");
  refused(mat_array(1, {1, 1 << 20}, "v", ""), "fewer cells");
  refused(mat_element(9, "12345678"), "where a variable should be");
  std::string deep = mat_number(1);
  for (int i = 0; i < 40; ++i) deep = mat_cells({deep}, "v");
  refused(deep, "nested too deep");
}

TEST(Mat, KeepsItsLimits) {
  MatLimits limits;
  limits.max_numbers = 8;
  limits.max_values = 4;
  limits.max_bytes = 4096;
  const std::string nine =
      mat_array(6, {1, 9}, "v", mat_element(2, std::string(9, '1')));
  expect_error<DataError>([&] { parse_one(nine, limits); }, "more than 8");
  const std::string five =
      mat_cells({mat_number(1), mat_number(1),
                 mat_cells({mat_number(1), mat_number(1), mat_number(1)})},
                "v");
  expect_error<DataError>([&] { parse_one(five, limits); }, "more than 4");
  const std::string huge =
      mat_array(6, {2'000'000'000, 2'000'000'000, 2'000'000'000}, "v", "");
  expect_error<DataError>([&] { parse_one(huge); }, "an array of more than");
  const std::string bomb =
      mat_array(6, {1, 8000}, "w", mat_element(2, std::string(8000, '1')));
  expect_error<DataError>(
      [&] { parse_mat(mat_file({bomb}, true), "x.mat", {"v"}, limits); },
      "unpacks to more than 4096 bytes");
}

/// Reads damaged bytes: a value or a DataError, never anything else.
void read_anything(const std::string& bytes) {
  try {
    parse_mat(bytes, "x.mat", {"annotations", "class_names"});
  } catch (const DataError&) {
    return;
  }
}

TEST(Mat, RefusesEveryTruncation) {
  for (const bool compressed : {false, true}) {
    const std::string whole = mat_file(small_variables(), compressed);
    const size_t first =
        mat_file({small_variables().front()}, compressed).size();
    for (size_t size = 0; size < whole.size(); ++size) {
      // Cut between two variables it is a file of fewer.
      if (size == 128 || size == first) continue;
      expect_error<DataError>(
          [&] {
            parse_mat(whole.substr(0, size), "x.mat",
                      {"annotations", "class_names"});
          },
          "x.mat");
    }
  }
}

TEST(Mat, SurvivesEveryChangedByte) {
  for (const bool compressed : {false, true}) {
    const std::string whole = mat_file(small_variables(), compressed);
    for (size_t i = 0; i < whole.size(); ++i) {
      for (const int value : {0, 1, 2, 14, 127, 128, 255}) {
        std::string bytes = whole;
        bytes[i] = static_cast<char>(value);
        read_anything(bytes);
      }
    }
  }
}

TEST(Mat, SurvivesRandomDamage) {
  std::mt19937_64 random(1);
  const std::string written = mat_file(small_variables());
  const std::string golden =
      read_file(golden_dir() + "/mat/annotations.mat", 4096);
  for (int i = 0; i < 5000; ++i) {
    read_anything(damage(written, random));
    read_anything(damage(golden, random));
  }
}

}  // namespace
}  // namespace kith
