#include "kith/core/whole_folder.h"

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

Files all_below(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    files[fs::relative(entry.path(), folder)] =
        read_file(entry.path(), 1 << 20);
  }
  return files;
}

/// Writes two files; between them, `meanwhile` is called.
void write_two(
    const std::string& folder, const std::string& text,
    const std::function<void()>& meanwhile = [] {}) {
  write_whole_folder(folder, [&](const std::string& path) {
    fs::create_directories(path + "/1");
    write_file(path + "/1/a", text);
    meanwhile();
    write_file(path + "/b", text);
  });
}

const Files kOld = {{"1/a", "old"}, {"b", "old"}};
const Files kNew = {{"1/a", "new"}, {"b", "new"}};

TEST(WholeFolder, IsTheOldOrTheNewOne) {
  const TempDir dir;
  const std::string folder = dir.file("deep/er");
  write_two(folder, "old", [&] { EXPECT_FALSE(fs::exists(folder)); });
  EXPECT_EQ(all_below(folder), kOld);
  ASSERT_EQ(::chmod(folder.c_str(), 0750), 0);
  write_file(folder + "/c", "only in the old one");
  Files before = kOld;
  before["c"] = "only in the old one";
  write_two(folder, "new", [&] { EXPECT_EQ(all_below(folder), before); });
  EXPECT_EQ(all_below(folder), kNew);
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms(0750));
  // Nothing is left beside it.
  EXPECT_EQ(all_below(dir.file("deep")),
            (Files{{"er/1/a", "new"}, {"er/b", "new"}}));
}

TEST(WholeFolder, StaysTheOldOneIfItFails) {
  const TempDir dir;
  const std::string folder = dir.file("x");
  write_two(folder, "old");
  EXPECT_THROW(write_two(folder, "new", [] { throw RunError("disk"); }),
               RunError);
  EXPECT_EQ(all_below(dir.path()), (Files{{"x/1/a", "old"}, {"x/b", "old"}}));
  EXPECT_THROW(
      write_two(dir.file("none"), "new", [] { throw RunError("disk"); }),
      RunError);
  EXPECT_FALSE(fs::exists(dir.file("none")));
}

TEST(WholeFolder, TakesWhatAKilledProcessLeftAway) {
  const TempDir dir;
  fs::create_directories(dir.file(".x.new/1"));
  write_file(dir.file(".x.new/1/half"), "ha");
  write_two(dir.file("x"), "new");
  EXPECT_EQ(all_below(dir.path()), (Files{{"x/1/a", "new"}, {"x/b", "new"}}));
}

TEST(WholeFolder, IsWrittenByOneAtATime) {
  const TempDir dir;
  const std::string folder = dir.file("x");
  write_two(folder, "new", [&] {
    expect_error<RunError>([&] { write_two(folder, "old"); },
                           "another process writes it");
  });
  EXPECT_EQ(all_below(folder), kNew);
}

TEST(WholeFolder, FollowsLinksAndEndsOfPaths) {
  const TempDir dir;
  const std::string folder = dir.file("x");
  write_two(folder + "/", "old");
  EXPECT_EQ(all_below(folder), kOld);
  fs::create_directory_symlink(folder, dir.file("link"));
  write_two(dir.file("link"), "new");
  EXPECT_TRUE(fs::is_symlink(dir.file("link")));
  EXPECT_EQ(all_below(folder), kNew);
}

TEST(WholeFolder, IsWrittenInPlaceWhereItCannotBeReplaced) {
  const TempDir dir;
  const std::string folder = dir.file("locked/x");
  write_two(folder, "old");
  const fs::path before = fs::current_path();
  fs::current_path(folder);  // the present folder stays the same one
  struct stat first {};
  struct stat second {};
  ASSERT_EQ(::stat(folder.c_str(), &first), 0);
  write_two(".", "new");
  ASSERT_EQ(::stat(folder.c_str(), &second), 0);
  fs::current_path(before);
  EXPECT_EQ(first.st_ino, second.st_ino);
  EXPECT_EQ(all_below(folder), kNew);
  if (::geteuid() == 0) return;  // who may do everything
  fs::permissions(dir.file("locked"), fs::perms(0555));
  write_two(folder, "old");
  fs::permissions(dir.file("locked"), fs::perms(0755));
  EXPECT_EQ(all_below(folder), kOld);
}

}  // namespace
}  // namespace kith
