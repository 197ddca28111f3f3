// Names of files and classes are anybody's: what the program prints of them is
// safe for a terminal, and its JSON is JSON.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kith/core/file.h"
#include "kith/core/json_text.h"
#include "kith/image/encode.h"
#include "tests/cli/run_program.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using OrderedJson = nlohmann::ordered_json;

// Clears the screen, sets the title, turns what follows around; and bytes of
// Latin-1.
const std::string kEscape = "\x1b[2J\x1b]0;x\x07\xc2\x9b\xe2\x80\xae";
const std::string kLatin = "caf\xe9";

/// Nothing of it is obeyed by a terminal.
void expect_safe(const std::string& text) {
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\x07")));
  EXPECT_THAT(text, Not(HasSubstr("\xc2\x9b")));
  EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));
  EXPECT_THAT(text, Not(HasSubstr("\xe9")));
}

/// Classes and files with such names: root/<class>/<file>.
void write_pictures(const TempDir& folder) {
  for (const std::string& name : {kEscape, kLatin, std::string("plain")}) {
    const std::string place = folder.file("root/" + name);
    std::filesystem::create_directories(place);
    write_png(place + "/" + name + ".png", Image(8, 8, 1));
    folder.write("root/" + name + "/broken" + name + ".png", "no picture");
  }
}

TEST(Names, OfBrokenImagesAreShownAndFoundAgain) {
  const TempDir folder;
  write_pictures(folder);
  const std::string root = folder.file("root");
  const ProgramResult text = run_kith({"data", "check", root});
  EXPECT_EQ(text.exit_code, 1);
  expect_safe(text.out + text.err);
  EXPECT_THAT(text.out, HasSubstr("brokencaf\\xe9.png"));
  EXPECT_THAT(text.out, HasSubstr("broken\\x1b[2J\\x1b]0;x\\x07"));

  const ProgramResult json = run_kith({"data", "check", root, "--json"});
  EXPECT_EQ(json.exit_code, 1);
  expect_safe(json.out + json.err);
  const OrderedJson broken = OrderedJson::parse(json.out).at("broken");
  ASSERT_EQ(broken.size(), 3u);
  for (const OrderedJson& entry : broken) {
    EXPECT_TRUE(std::filesystem::exists(get_path(entry, "path"))) << entry;
  }
}

TEST(Names, OfLinesInAListAreOneLine) {
  const TempDir folder;
  const std::string list = folder.write(
      "list.csv", "path,label,split\n\"a\n12:00:00 forged.png\",1,train\n");
  const ProgramResult checked = run_kith({"data", "check", list});
  EXPECT_THAT(checked.out, Not(HasSubstr("\n12:00:00 forged")));
  EXPECT_THAT(checked.out, HasSubstr("a\\x0a12:00:00 forged.png"));
}

TEST(Names, OfWhatIsFoundAreShownAndFoundAgain) {
  const TempDir folder;
  const std::string items =
      folder.write("ids.txt", kEscape + "\n" + kLatin + "\nplain\n");
  const std::string labels =
      folder.write("labels.txt", kLatin + "\n" + kEscape + "\nx\n");
  // Three vectors of two numbers as .npy.
  std::string npy("\x93NUMPY\x01\x00", 8);
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }";
  header.resize(117, ' ');
  header += '\n';
  npy += static_cast<char>(header.size());
  npy += '\0';
  npy += header;
  for (const float x : {1.f, 0.f, 0.f, 1.f, 0.6f, 0.8f}) {
    npy.append(reinterpret_cast<const char*>(&x), sizeof(x));
  }
  const std::string vectors = folder.write("v.npy", npy);
  const std::string index = folder.file("index-" + kLatin);
  expect_success({"index", vectors, "--ids", items, "--labels", labels, "--out",
                  index, "--json"});
  const std::vector<std::string> search = {
      "search", "--index", index, "--embeddings", vectors, "-k", "3"};
  const ProgramResult text = expect_success(search);
  expect_safe(text.out + text.err);
  EXPECT_THAT(text.out, HasSubstr("caf\\xe9"));
  std::vector<std::string> as_json = search;
  as_json.emplace_back("--json");
  const ProgramResult json = expect_success(as_json);
  expect_safe(json.out + json.err);
  const OrderedJson first =
      OrderedJson::parse(json.out).at("queries").at(1).at("results");
  EXPECT_EQ(get_path(first.at(0), "path"), kLatin);
  for (const char* what : {"--json", ""}) {
    std::vector<std::string> info = {"index", "info", index};
    if (*what != '\0') info.emplace_back(what);
    const ProgramResult said = expect_success(info);
    expect_safe(said.out + said.err);
    if (*what == '\0') continue;
    EXPECT_NO_THROW(OrderedJson::parse(said.out));
  }
}

TEST(Names, InErrorsAreOneSafeLine) {
  const TempDir folder;
  for (const std::string& name : {kEscape, kLatin, std::string("a\nb")}) {
    const ProgramResult failed = run_kith({"data", "check", folder.file(name)});
    EXPECT_EQ(failed.exit_code, 1);
    expect_safe(failed.err);
    EXPECT_EQ(std::count(failed.err.begin(), failed.err.end(), '\n'), 1);
    const std::string config = folder.write(
        "c.yaml", "data: {name: \"\\e[31m\\u202e" + std::string("\"}\n"));
    expect_safe(run_kith({"train", config}).err);
  }
}

TEST(FileSizeLimit, IsAnErrorThatNamesTheFile) {
  const TempDir folder;
  const std::string out = folder.file("glyphs");
  // 4 KB a file: enough for the pictures, not for the list of 200 of them.
  const ProgramResult limited = run_program(
      {"/bin/sh", "-c",
       "ulimit -f 8; exec \"$0\" data make glyphs --out \"$1\" --classes 20 "
       "--per-class 10",
       program_path(), out});
  EXPECT_EQ(limited.signal, 0);
  EXPECT_EQ(limited.exit_code, 1);
  EXPECT_THAT(limited.err, HasSubstr("kith: " + out + "/dataset.csv"));
  EXPECT_THAT(limited.err, HasSubstr("File too large"));
  EXPECT_FALSE(std::filesystem::exists(out + "/dataset.csv"));
}

}  // namespace
}  // namespace kith
