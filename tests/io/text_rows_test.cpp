#include "kith/io/text_rows.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::ElementsAre;

TEST(TextRows, SplitsLinesAtRunsOfSpaces) {
  const TempDir dir;
  const std::string path =
      dir.write("a.txt",
                "\xef\xbb\xbf"
                "one  two\t three \r\n\r\n   \n four\n\n five");
  TextRows rows(path);
  ASSERT_TRUE(rows.next());
  EXPECT_THAT(rows.words(), ElementsAre("one", "two", "three"));
  EXPECT_EQ(rows.where(), path + ":1");
  ASSERT_TRUE(rows.next());
  EXPECT_THAT(rows.words(), ElementsAre("four"));
  EXPECT_EQ(rows.line(), 4);
  rows.expect(1, "<word>");
  expect_error<DataError>([&] { rows.expect(2, "<a> <b>"); }, path + ":4",
                          "'<a> <b>'", "got 1 word");
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.line(), 6);
  EXPECT_FALSE(rows.next());
  EXPECT_FALSE(rows.next());
}

TEST(TextRows, ReadsTheHeader) {
  const TempDir dir;
  const std::string path = dir.write("a.txt", "id   path\nx y\n");
  TextRows(path).read_header("id path");
  expect_error<DataError>([&] { TextRows(path).read_header("id name"); },
                          path + ":1", "'id name'", "'id path'");
  expect_error<DataError>(
      [&] { TextRows(dir.write("b.txt", "\n\n")).read_header("id"); },
      "the end of the file");
}

TEST(TextRows, RefusesWhatIsNoText) {
  const TempDir dir;
  const std::string path =
      dir.write("a.txt", std::string("a b\n") + '\0' + "\n");
  TextRows rows(path);
  EXPECT_TRUE(rows.next());
  expect_error<DataError>([&] { rows.next(); }, path + ":2", "NUL byte");
  expect_error<DataError>([&] { TextRows(dir.file("none.txt")); }, "none.txt");
}

TEST(TextRows, FindsTheFirstThatExists) {
  const TempDir dir;
  const std::string b = dir.write("b", "");
  const std::string c = dir.write("c", "");
  EXPECT_EQ(first_that_exists({dir.file("a"), b, c}), b);
  EXPECT_EQ(first_that_exists({dir.file("a")}), "");
}

}  // namespace
}  // namespace kith
