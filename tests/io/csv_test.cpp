#include "kith/io/csv.h"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using Fields = std::vector<std::string>;

template <typename... Parts>
void expect_csv_refused(std::string_view text, const Parts&... parts) {
  expect_error<DataError>([&] { parse_csv(text, "list.csv"); }, parts...);
}

TEST(Csv, ReadsPlainRows) {
  const CsvTable table = parse_csv("a,b\n1,2\n3,\n", "list.csv");
  EXPECT_EQ(table.header(), (Fields{"a", "b"}));
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0].fields, (Fields{"1", "2"}));
  EXPECT_EQ(table.rows()[1].fields, (Fields{"3", ""}));
  EXPECT_EQ(table.column("b"), 1u);
  EXPECT_EQ(table.where(table.rows()[1]), "list.csv:3");
}

TEST(Csv, ReadsQuotedFields) {
  const CsvTable table = parse_csv(
      "a,b\n\"x, y\",\"he said \"\"no\"\"\"\n\"two\r\nlines\",\"\"\nlast,1",
      "list.csv");
  ASSERT_EQ(table.rows().size(), 3u);
  EXPECT_EQ(table.rows()[0].fields, (Fields{"x, y", "he said \"no\""}));
  EXPECT_EQ(table.rows()[1].fields, (Fields{"two\r\nlines", ""}));
  EXPECT_EQ(table.rows()[1].line, 3);
  EXPECT_EQ(table.rows()[2].line, 5);
}

TEST(Csv, AcceptsEveryLineEndAndAByteOrderMark) {
  const CsvTable table =
      parse_csv("\xef\xbb\xbfpath,label\r\nx,1\ry,2\nz,3", "list.csv");
  EXPECT_EQ(table.column("path"), 0u);
  ASSERT_EQ(table.rows().size(), 3u);
  EXPECT_EQ(table.rows()[0].fields, (Fields{"x", "1"}));
  EXPECT_EQ(table.rows()[2].line, 4);
}

TEST(Csv, SkipsBlankLinesButCountsThem) {
  const CsvTable table =
      parse_csv("\n\na,b\n\n1,2\n  \t\r\n,\n \n", "list.csv");
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0].line, 5);
  EXPECT_EQ(table.rows()[1].line, 7);
  EXPECT_EQ(table.rows()[1].fields, (Fields{"", ""}));
}

TEST(Csv, KeepsSpacesAndInnerQuotes) {
  const CsvTable table = parse_csv("a,b\n x ,5\" disk\n", "list.csv");
  EXPECT_EQ(table.rows()[0].fields, (Fields{" x ", "5\" disk"}));
}

TEST(Csv, ReadsWithoutHeaderAndWithAnotherSeparator) {
  const CsvTable table = parse_csv("1\t2\n\t4\n", "list.tsv",
                                   {.separator = '\t', .has_header = false});
  EXPECT_TRUE(table.header().empty());
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0].fields, (Fields{"1", "2"}));
  EXPECT_EQ(table.rows()[1].fields, (Fields{"", "4"}));
}

TEST(Csv, NamesFileAndLineOfErrors) {
  expect_csv_refused("a,b\n1,2\n1,\"2\n3,4\n", "list.csv:3:", "unterminated");
  expect_csv_refused("a,b\n1,2\n\n3\n",
                     "list.csv:4:", "expected 2 columns, got 1");
  expect_csv_refused("a,b\n1,2,3\n",
                     "list.csv:2:", "expected 2 columns, got 3");
  expect_csv_refused(std::string(10'000, ','),
                     "list.csv:1:", "10001 columns, at most 10000");
  expect_csv_refused("a,b\n\"1\" ,2\n", "list.csv:2:", "after a closing quote");
  expect_csv_refused("a,b\n\"x\ny\"z,2\n",
                     "list.csv:3:", "after a closing quote");
  expect_csv_refused("a,b,a\n", "list.csv:1:", "'a' appears twice");
  expect_csv_refused("", "list.csv:1:", "header");
  expect_csv_refused(" \n\n", "list.csv:1:", "header");
  expect_csv_refused(std::string_view("\xff\xfe"
                                      "a\0,\0",
                                      6),
                     "list.csv:1:", "UTF-8");
  expect_csv_refused(std::string_view("a\n\"\0\"", 5), "list.csv:2:", "NUL");
}

TEST(Csv, ListsTheColumnsWhenOneIsMissing) {
  const CsvTable table = parse_csv("\npath,class\nx,1\n", "list.csv");
  EXPECT_FALSE(table.find_column("label").has_value());
  expect_error<DataError>([&] { table.column("label"); },
                          "list.csv:2:", "'label'", "'path', 'class'");
}

TEST(Csv, ReadsAFile) {
  const TempDir dir;
  const std::string path = dir.write("df.csv", "a\n1\n");
  EXPECT_EQ(read_csv(path).rows()[0].fields, Fields{"1"});
  expect_error<DataError>([&] { read_csv(dir.file("no.csv")); }, "no.csv",
                          "No such file");
}

TEST(Csv, QuotingRoundTrips) {
  EXPECT_EQ(csv_quote("plain text"), "plain text");
  EXPECT_EQ(csv_quote(""), "");
  EXPECT_EQ(csv_quote("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_quote("a,b", ';'), "a,b");
  EXPECT_EQ(csv_quote("say \"x\""), "\"say \"\"x\"\"\"");
  const Fields fields = {"\"", "a\nb", "\r\n", ",", " ", "\t", "\"\"", "x"};
  std::string text;
  for (const std::string& field : fields) {
    text += csv_quote(field) + "," + csv_quote(field) + "\n";
  }
  const CsvTable table =
      parse_csv(text, "list.csv", {.separator = ',', .has_header = false});
  ASSERT_EQ(table.rows().size(), fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(table.rows()[i].fields, (Fields{fields[i], fields[i]}));
  }
}

TEST(Csv, DamageNeverDoesMoreThanThrowDataError) {
  std::mt19937_64 random(3);
  const std::string good =
      "\xef\xbb\xbfpath,label\r\n\"a,\"\"b\",1\r\n\n\"x\ny\",2\nz,3\n";
  for (int i = 0; i < 5000; ++i) {
    try {
      const CsvTable table = parse_csv(damage(good, random), "list.csv");
      for (const CsvRow& row : table.rows()) {
        EXPECT_EQ(row.fields.size(), table.header().size());
      }
    } catch (const DataError&) {
    }
  }
}

TEST(Csv, RowsComeOneAfterAnother) {
  const TempDir dir;
  const std::string path =
      dir.write("a.csv", "id,url\r\n1,\"x,y\"\r\n\r\n2,z\n3\n");
  CsvRows rows(path);
  EXPECT_EQ(rows.head().column("url"), 1u);
  const CsvRow* row = rows.next();
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->fields, (std::vector<std::string>{"1", "x,y"}));
  row = rows.next();
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(rows.head().where(*row), path + ":4");
  expect_error<DataError>([&] { rows.next(); }, path + ":5", "2 columns");
  CsvRows empty(dir.write("b.csv", "id\n"));
  EXPECT_EQ(empty.next(), nullptr);
  EXPECT_EQ(empty.next(), nullptr);
}

}  // namespace
}  // namespace kith
