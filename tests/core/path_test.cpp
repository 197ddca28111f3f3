#include "kith/core/path.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// The message of what is thrown; empty if nothing is.
template <class Error, class Deed>
std::string path_error(Deed deed) {
  try {
    deed();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Path, TellsFilesFoldersAndNothingApart) {
  const TempDir dir;
  const std::string file = dir.path() + "/file";
  write_file(file, "four");
  EXPECT_TRUE(path_exists(file));
  EXPECT_TRUE(is_file(file));
  EXPECT_FALSE(is_folder(file));
  EXPECT_EQ(bytes_of(file), 4);
  EXPECT_TRUE(is_folder(dir.path()));
  EXPECT_FALSE(is_file(dir.path()));
  EXPECT_FALSE(path_exists(file + ".none"));
  EXPECT_FALSE(path_exists(file + "/below"));  // a file is no folder
  EXPECT_FALSE(path_exists(""));
}

TEST(Path, NamesComeInOrder) {
  const TempDir dir;
  for (const char* name : {"b", "a", "c"}) {
    write_file(dir.path() + "/" + name, "");
  }
  EXPECT_THAT(names_in(dir.path()), ElementsAre("a", "b", "c"));
}

TEST(Path, MakesAndRemovesAndDoesNothingTwice) {
  const TempDir dir;
  const std::string folder = dir.path() + "/x/y";
  make_folders(folder + "/");
  make_folders(folder);
  EXPECT_TRUE(is_folder(folder));
  write_file(folder + "/file", "");
  remove_file(folder + "/file");
  remove_file(folder + "/file");
  EXPECT_THAT(names_in(folder), ElementsAre());
}

// What std::filesystem throws begins with "filesystem error" and is of no kind
// that the program knows.
TEST(Path, ErrorsNameThePathAndTheReason) {
  const TempDir dir;
  const std::string file = dir.path() + "/file";
  write_file(file, "");
  const auto good = AllOf(HasSubstr(file + "/below: "), HasSubstr("irectory"),
                          Not(HasSubstr("filesystem error")));
  EXPECT_THAT(path_error<RunError>([&] { make_folders(file + "/below"); }),
              good);
  EXPECT_THAT(path_error<DataError>([&] { names_in(file + "/below"); }), good);
  EXPECT_THAT(path_error<DataError>([&] { bytes_of(file + "/below"); }), good);
  const std::string full = dir.path() + "/full";
  make_folders(full + "/inside");
  EXPECT_THAT(path_error<RunError>([&] { remove_file(full); }),
              HasSubstr(full + ": cannot be removed: "));
  const std::string long_name(5000, 'x');
  EXPECT_THAT(path_error<DataError>([&] { path_exists(long_name); }),
              HasSubstr("x: cannot be read: "));
  EXPECT_THAT(path_error<RunError>([] { full_path(""); }),
              HasSubstr("no path from the root"));
}

}  // namespace
}  // namespace kith
