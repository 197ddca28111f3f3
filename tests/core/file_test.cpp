#include "kith/core/file.h"

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kith/core/error.h"
#include "kith/core/growing_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

namespace fs = std::filesystem;

size_t files_in(const std::string& folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) {
    ++count;
  }
  return count;
}

TEST(ReadFile, GivesAllBytes) {
  const TempDir dir;
  const std::string contents("a\0b\xff\n", 5);
  EXPECT_EQ(read_file(dir.write("x", contents), 5), contents);
  EXPECT_EQ(read_file(dir.write("empty", ""), 0), "");
}

TEST(ReadFile, RefusesMoreThanTheLimit) {
  const TempDir dir;
  const std::string path = dir.write("x", "12345");
  expect_error<DataError>([&] { read_file(path, 4); }, path, "5 bytes", "4");
}

TEST(ReadFile, NamesAMissingFile) {
  const TempDir dir;
  const std::string path = dir.file("missing");
  expect_error<DataError>([&] { read_file(path, 10); }, path,
                          "No such file or directory");
}

TEST(ReadFile, RefusesFolderPipeAndDevice) {
  const TempDir dir;
  expect_error<DataError>([&] { read_file(dir.path(), 10); }, dir.path(),
                          "not a regular file");
  const std::string pipe = dir.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_error<DataError>([&] { read_file(pipe, 10); }, pipe,
                          "not a regular file");
  expect_error<DataError>([&] { read_file("/dev/zero", 10); }, "/dev/zero",
                          "not a regular file");
}

TEST(FileReader, ReadsInsideAndRefusesOutside) {
  const TempDir dir;
  FileReader first(dir.write("x", "0123456789"));
  const FileReader file = std::move(first);
  EXPECT_EQ(file.size(), 10u);
  std::string piece(3, ' ');
  file.read_at(4, piece.data(), 3);
  EXPECT_EQ(piece, "456");
  file.read_at(10, piece.data(), 0);
  expect_error<DataError>([&] { file.read_at(8, piece.data(), 3); },
                          file.path(), "truncated");
  expect_error<DataError>([&] { file.read_at(~uint64_t{0}, piece.data(), 3); },
                          "truncated");
}

TEST(FileReader, NoticesAFileThatShrinks) {
  const TempDir dir;
  const std::string path = dir.write("x", "0123456789");
  const FileReader file(path);
  fs::resize_file(path, 4);
  std::string piece(10, ' ');
  expect_error<DataError>([&] { file.read_at(0, piece.data(), 10); }, path,
                          "became shorter");
}

TEST(WriteFile, CreatesAndReplaces) {
  const TempDir dir;
  const std::string path = dir.file("x");
  write_file_atomically(path, "first");
  write_file_atomically(path, [](FileWriter& writer) {
    writer.write("sec");
    writer.write(nullptr, 0);
    writer.write("ond");
  });
  EXPECT_EQ(read_file(path, 100), "second");
  EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST(WriteFile, TakesLargePiecesBesideSmallOnes) {
  const TempDir dir;
  const std::string path = dir.file("x");
  const std::string large(3 << 20, 'l');
  write_file_atomically(path, [&](FileWriter& writer) {
    for (const char* small : {"a", "b"}) {
      writer.write(small);
      writer.write(large);
    }
    writer.write("c");
  });
  EXPECT_EQ(read_file(path, 10 << 20), "a" + large + "b" + large + "c");
}

TEST(WriteFile, FollowsTheUmask) {
  const TempDir dir;
  const mode_t before = ::umask(022);
  write_file_atomically(dir.file("x"), "x");
  ::umask(before);
  EXPECT_EQ(fs::status(dir.file("x")).permissions(), fs::perms(0644));
}

TEST(WriteFile, TakesARelativePathAndALongName) {
  const TempDir dir;
  const fs::path before = fs::current_path();
  fs::current_path(dir.path());
  const std::string name(255, 'n');
  EXPECT_NO_THROW(write_file_atomically(name, "x"));
  fs::current_path(before);
  EXPECT_EQ(read_file(dir.file(name), 10), "x");
}

TEST(WriteFile, LeavesTheOldFileWhenTheCallbackThrows) {
  const TempDir dir;
  const std::string path = dir.write("x", "old");
  expect_error<std::logic_error>(
      [&] {
        write_file_atomically(path, [](FileWriter& writer) {
          writer.write("half of the ne");
          throw std::logic_error("stop");
        });
      },
      "stop");
  EXPECT_EQ(read_file(path, 100), "old");
  EXPECT_EQ(files_in(dir.path()), 1u);
}

TEST(WriteFile, NamesPathAndReason) {
  const TempDir dir;
  const std::string path = dir.file("no/such/x");
  expect_error<RunError>([&] { write_file_atomically(path, "x"); }, path,
                         "No such file or directory");
}

TEST(WriteFile, RefusesFolderAndDevice) {
  const TempDir dir;
  expect_error<RunError>([&] { write_file_atomically(dir.path(), "x"); },
                         dir.path(), "not a regular file");
  expect_error<RunError>([&] { write_file_atomically("/dev/null", "x"); },
                         "/dev/null", "not a regular file");
}

// A full disk shows when the buffer is full, or at the end.
TEST(FileWriter, ReportsNoSpace) {
  const int full = ::open("/dev/full", O_WRONLY);
  if (full < 0) GTEST_SKIP() << "no /dev/full here";
  const std::string path = "out.bin";
  FileWriter writer(full, path);
  expect_error<RunError>([&] { writer.write(std::string(1 << 17, 'x')); }, path,
                         "No space left on device");
  writer.write("x");
  expect_error<RunError>([&] { writer.flush(); }, path,
                         "No space left on device");
  ::close(full);
}

TEST(FileWriter, WritesOverWhatIsStillInItsBuffer) {
  const TempDir dir;
  const std::string path = dir.file("x");
  write_file_atomically(path, [](FileWriter& writer) {
    writer.write("0000");
    writer.write_over(1, "12", 2);
    writer.write(std::string(1 << 17, 'x'));
    writer.write("end");
  });
  const std::string found = read_file(path, 1 << 18);
  EXPECT_EQ(found.size(), (1u << 17) + 7);
  EXPECT_EQ(found.substr(0, 5), "0120x");
  EXPECT_TRUE(found.ends_with("xend"));
}

TEST(WriteFile, NamesPathAndReasonOfASimpleFile) {
  const TempDir dir;
  expect_error<RunError>([&] { write_file(dir.file("no/x"), "x"); }, "no/x",
                         "No such file or directory");
  write_file(dir.file("x"), "x");
  EXPECT_EQ(read_file(dir.file("x"), 10), "x");
}

TEST(GrowingFile, HasWhatWasAppended) {
  const TempDir dir;
  const std::string path = dir.write("x", "old ");
  GrowingFile file(path, GrowingFile::Start::kAtEnd);
  file.append("new ");
  EXPECT_EQ(read_file(path, 100), "old new ");
  const GrowingFile empty(path, GrowingFile::Start::kEmpty);
  EXPECT_EQ(read_file(path, 100), "");
  file.append("more");
  EXPECT_EQ(read_file(path, 100), "more");
  expect_error<RunError>(
      [&] { GrowingFile(dir.file("no/x"), GrowingFile::Start::kEmpty); },
      "no/x", "No such file or directory");
}

TEST(FileReader, TellsWhatIsMissingFromWhatCannotBeRead) {
  const TempDir dir;
  EXPECT_THROW(FileReader(dir.file("none")), DataError);
  try {
    const FileReader none(dir.file("none"));
  } catch (const ReadError& error) {
    ADD_FAILURE() << error.what();
  } catch (const DataError&) {
  }
  // More links than a name may have: as unreadable as on a broken disk.
  fs::create_symlink(dir.file("loop"), dir.file("loop"));
  expect_error<ReadError>([&] { FileReader(dir.file("loop")); }, "loop",
                          "cannot open");
}

// What a process that was killed has left is removed; not what one is at work
// on, which holds its lock, nor what only looks alike.
TEST(WriteFileAtomically, RemovesWhatIsAbandoned) {
  const TempDir dir;
  const std::string left = dir.write(".kith-123456-7.tmp", "half");
  const std::string busy = dir.write(".kith-123456-8.tmp", "half");
  const std::vector<std::string> others = {
      dir.write(".kith-x.tmp", ""), dir.write(".kith-.tmp", ""),
      dir.write("kith-1-2.tmp", ""), dir.write(".kith-1-2.tmp.csv", "")};
  const int held = ::open(busy.c_str(), O_RDWR);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  fs::create_symlink(others[0], dir.file(".kith-5-5.tmp"));
  {
    const LogCapture log;
    write_file_atomically(dir.file("x"), "new");
    ASSERT_EQ(log.notes().size(), 1u);
    EXPECT_NE(log.notes()[0].find(left), std::string::npos);
  }
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(busy));
  EXPECT_TRUE(fs::is_symlink(dir.file(".kith-5-5.tmp")));
  for (const std::string& other : others) EXPECT_TRUE(fs::exists(other));
  ::close(held);
  EXPECT_EQ(read_file(dir.file("x"), 10), "new");
}

// The lock of a temporary is held until it has its name.
TEST(WriteFileAtomically, ATemporaryIsNotTakenForAbandoned) {
  const TempDir dir;
  write_file_atomically(dir.file("x"), [&](FileWriter& writer) {
    for (const auto& entry : fs::directory_iterator(dir.path())) {
      const int file = ::open(entry.path().c_str(), O_RDWR);
      ASSERT_GE(file, 0);
      EXPECT_NE(::flock(file, LOCK_EX | LOCK_NB), 0);
      EXPECT_EQ(errno, EWOULDBLOCK);
      ::close(file);
    }
    writer.write("x");
  });
  EXPECT_EQ(files_in(dir.path()), 1u);
}

}  // namespace
}  // namespace kith
