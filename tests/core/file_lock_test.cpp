#include "kith/core/file_lock.h"

#include <gtest/gtest.h>

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
  }
  FileLock again(path);
  EXPECT_TRUE(again.try_lock());
}

TEST(FileLock, NamesAFileThatCannotBeMade) {
  const TempDir folder;
  const std::string path = folder.file("no/such/folder/lock");
  expect_error<RunError>([&] { const FileLock lock(path); }, path,
                         "cannot be written");
}

}  // namespace
}  // namespace kith
