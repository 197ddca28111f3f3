#include "kith/io/byte_stream.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

TEST(ByteStream, TakesFromMemory) {
  const std::string bytes("\1\2\3line\nrest", 12);
  ByteStream in(bytes, "x");
  EXPECT_EQ(in.byte(), 1);
  EXPECT_EQ(in.number<uint16_t>(), 0x0302);
  EXPECT_EQ(in.line(), "line");
  EXPECT_EQ(in.position(), 8u);
  EXPECT_EQ(in.take(4), "rest");
  EXPECT_EQ(in.take(0), "");
  EXPECT_EQ(in.remaining(), 0u);
  expect_error<DataError>([&] { in.byte(); }, "x: truncated", "byte 12");
  expect_error<DataError>([&] { in.line(); }, "x: truncated");
  expect_error<DataError>([&] { in.take(1); }, "x: truncated");
}

// Longer than the window that is held, so that takes cross its ends.
TEST(ByteStream, TakesFromPartOfAFile) {
  std::string bytes;
  for (int i = 0; i < 50'000; ++i) bytes += std::to_string(i) + "\n";
  const TempDir dir;
  const FileReader file(dir.write("a", bytes));
  const uint64_t begin = 2;
  const uint64_t end = bytes.size() - 3;
  ByteStream lines(file, begin, end);
  for (int i = 1; i < 49'999; ++i) ASSERT_EQ(lines.line(), std::to_string(i));
  EXPECT_EQ(lines.remaining(), 3u);
  EXPECT_EQ(lines.position(), end - 3);
  ByteStream pieces(file, begin, end);
  std::string all = pieces.take(7);
  while (pieces.remaining() > 0) {
    all += pieces.take(std::min<uint64_t>(99'991, pieces.remaining()));
  }
  EXPECT_EQ(all, bytes.substr(begin, end - begin));
  expect_error<DataError>([&] { pieces.byte(); }, file.path(), "truncated");
}

TEST(ByteStream, ChecksSizesBeforeMemoryIsTaken) {
  const TempDir dir;
  const FileReader file(dir.write("a", "abc"));
  ByteStream in(file, 1, 3);
  expect_error<DataError>([&] { in.take(~uint64_t{0}); }, file.path(),
                          "at byte 1", "2 are there");
  EXPECT_EQ(in.take(2), "bc");
}

}  // namespace
}  // namespace kith
