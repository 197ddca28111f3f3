#include "kith/io/file_sums.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/io/crc32c.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

/// Two blocks and a bit.
std::string large() {
  std::string bytes(2 * FileSums::kBlock + 100, '\0');
  for (size_t i = 0; i < bytes.size(); i += 977) {
    bytes[i] = static_cast<char>(i);
  }
  return bytes;
}

TEST(FileSums, AreOfEachBlock) {
  const TempDir folder;
  const std::string bytes = large();
  const FileSums sums = sums_of_file(folder.write("x", bytes));
  EXPECT_EQ(sums.bytes, bytes.size());
  ASSERT_EQ(sums.crc.size(), 3u);
  EXPECT_EQ(sums.crc[0], crc32c(bytes.substr(0, FileSums::kBlock)));
  EXPECT_EQ(sums.crc[2], crc32c(bytes.substr(2 * FileSums::kBlock)));
  EXPECT_EQ(sums_of_file(folder.write("none", "")).hex(), "00000000");

  FileSums again;
  ASSERT_TRUE(parse_sums(sums.hex(), sums.bytes, again));
  EXPECT_EQ(again.crc, sums.crc);
  EXPECT_EQ(again.bytes, sums.bytes);
  EXPECT_FALSE(parse_sums(sums.hex(), FileSums::kBlock, again));
  EXPECT_FALSE(parse_sums(sums.hex() + "0", sums.bytes, again));
  EXPECT_FALSE(parse_sums("0000000g", 5, again));
  EXPECT_FALSE(parse_sums("", 0, again));
}

TEST(FileCheck, FindsTheBlockThatChanged) {
  const TempDir folder;
  std::string bytes = large();
  const std::string path = folder.write("x", bytes);
  const FileSums sums = sums_of_file(path);
  bytes[FileSums::kBlock + 5] ^= 4;
  folder.write("x", bytes);
  const FileReader file(path);
  const FileCheck check(file, sums);
  std::string out(bytes.size(), '\0');
  const auto read = [&](uint64_t offset, uint64_t size) {
    check.read_at(file, offset, out.data(), size);
    EXPECT_EQ(out.substr(0, size), bytes.substr(offset, size));
  };
  read(0, FileSums::kBlock);
  read(7, 20);
  read(2 * FileSums::kBlock + 90, 10);
  read(FileSums::kBlock, 0);
  for (const auto& [offset, size] : {std::pair{FileSums::kBlock, uint64_t{1}},
                                     {2 * FileSums::kBlock - 1, 1},
                                     {FileSums::kBlock - 1, 2},
                                     {FileSums::kBlock + 100, 1000},
                                     {FileSums::kBlock, FileSums::kBlock},
                                     {0, bytes.size()}}) {
    expect_error<DataError>([&] { read(offset, size); }, path, "damaged",
                            "bytes 4194304 to 8388608", "anew");
  }
  expect_error<DataError>([&] { check.check_all(file); }, path, "damaged");
  FileCheck(file, {}).check_all(file);
  std::filesystem::resize_file(path, 7);
  expect_error<DataError>(
      [&] { const FileCheck other(FileReader(path), sums); }, path, "damaged",
      "to 7 bytes");
}

TEST(OwnSum, TellsOfEveryBit) {
  std::string text = R"({"sum":"00000000","k":1})";
  constexpr std::string_view kMark = R"("sum":")";
  put_own_sum(text, kMark);
  EXPECT_EQ(text.find(kNoSum), std::string::npos);
  EXPECT_TRUE(own_sum_fits(text, kMark));
  EXPECT_TRUE(own_sum_fits("{}", kMark));
  EXPECT_TRUE(own_sum_fits(R"({"sum":"12)", kMark));
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string other = text;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << (bit % 8)));
    if (other.find(kMark) == other.npos) continue;
    EXPECT_FALSE(own_sum_fits(other, kMark)) << other;
  }
}

}  // namespace
}  // namespace kith
