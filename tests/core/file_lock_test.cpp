#include "kith/core/file_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

TEST(FileLock, IsForOneAtATime) {
  const TempDir folder;
  const std::string path = folder.file("lock");
  {
    FileLock lock(path);
    EXPECT_TRUE(lock.try_lock());
    FileLock other(path);
    EXPECT_FALSE(other.try_lock());
    EXPECT_EQ(other.holder(), " (process " + std::to_string(::getpid()) + ")");
  }
  FileLock again(path);
  EXPECT_TRUE(again.try_lock());
}

TEST(FileLock, SaysWhoHasIt) {
  const TempDir folder;
  EXPECT_EQ(FileLock(folder.file("new")).holder(), "");
  for (const char* text : {"", "12", " there", "x there", "\n", "-3 there"}) {
    EXPECT_EQ(FileLock(folder.write("lock", text)).holder(), "") << text;
  }
  EXPECT_EQ(FileLock(folder.write("lock", "12 far away")).holder(),
            " (process 12 on the machine 'far away')");
}

TEST(FolderLock, IsForOne) {
  const TempDir folder;
  const std::string place = folder.file("new/folder");
  {
    const FolderLock lock(place, "kith sweep");
    expect_error<RunError>(
        [&] { const FolderLock other(place, "kith train", 0); }, place,
        "another kith train (process ", "another folder");
  }
  const FolderLock again(place, "kith sweep");
  folder.write("file", "");
  expect_error<RunError>(
      [&] { const FolderLock none(folder.file("file/x"), "kith train"); },
      "file/x", "cannot make the folder");
}

TEST(FileLock, NamesAFileThatCannotBeMade) {
  const TempDir folder;
  const std::string path = folder.file("no/such/folder/lock");
  expect_error<RunError>([&] { const FileLock lock(path); }, path,
                         "cannot be written");
}

}  // namespace
}  // namespace kith
