#include "kith/io/zip.h"

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/pth_files.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

class ZipTest : public ::testing::Test {
 protected:
  ZipFile open(const std::string& bytes) {
    return ZipFile(dir_.write("a.zip", bytes));
  }
  static std::string read(const ZipFile& zip, const std::string& name) {
    return zip.read(*zip.find(name), 1000);
  }
  template <typename... Parts>
  void expect_refused(const std::string& bytes, const Parts&... parts) {
    expect_error<DataError>(
        [&] {
          const ZipFile zip = open(bytes);
          for (const ZipEntry& entry : zip.entries()) zip.read(entry, 1000);
        },
        dir_.file("a.zip"), parts...);
  }

  TempDir dir_;
};

const std::vector<RawZipEntry>& three_entries() {
  static const std::vector<RawZipEntry> entries = {
      {"f/one", "first", 0, 0, std::string(37, 'F')},
      {"f/two", raw_deflated("second"), 8, 6},
      {"f/none", ""}};
  return entries;
}

TEST_F(ZipTest, ContentsAreComparedWithTheirChecksums) {
  std::vector<RawZipEntry> entries = three_entries();
  entries[0].crc = 0x9271ee57;
  entries[1].crc = 0xb61f1169;
  const std::string whole = raw_zip(entries);
  const ZipFile zip = open(whole);
  EXPECT_EQ(read(zip, "f/one"), "first");
  EXPECT_EQ(read(zip, "f/two"), "second");
  std::string part(3, '\0');
  zip.read_range(*zip.find("f/one"), 1, part.data(), part.size());
  EXPECT_EQ(part, "irs");
  for (const std::string word : {"first", "second"}) {
    std::string bytes = whole;
    bytes[bytes.find(word)] ^= 1;
    expect_refused(bytes, "damaged", "f/", "checksum");
  }
  std::string bytes = whole;
  bytes[bytes.find("first")] ^= 1;
  const ZipFile damaged = open(bytes);
  for (const size_t size : {size_t{3}, size_t{5}}) {
    std::string out(size, '\0');
    expect_error<DataError>(
        [&] {
          damaged.read_range(*damaged.find("f/one"), 5 - size, out.data(),
                             size);
        },
        "damaged", "'f/one'");
  }
}

TEST_F(ZipTest, ReadsStoredAndDeflatedEntries) {
  for (const bool zip64 : {false, true}) {
    const ZipFile zip = open(raw_zip(three_entries(), zip64));
    ASSERT_EQ(zip.entries().size(), 3u);
    EXPECT_EQ(zip.entries()[0].name, "f/one");
    EXPECT_EQ(read(zip, "f/one"), "first");
    EXPECT_EQ(read(zip, "f/two"), "second");
    EXPECT_EQ(read(zip, "f/none"), "");
    EXPECT_EQ(zip.find("one"), nullptr);
    std::string part(3, '\0');
    zip.read_range(*zip.find("f/one"), 1, part.data(), part.size());
    EXPECT_EQ(part, "irs");
  }
}

TEST_F(ZipTest, ReadsAnEmptyArchiveAndOneWithAComment) {
  EXPECT_TRUE(open(raw_zip({})).entries().empty());
  std::string bytes = raw_zip(three_entries());
  bytes[bytes.size() - 2] = 5;
  EXPECT_EQ(read(open(bytes + "PK\5\6!"), "f/one"), "first");
}

TEST_F(ZipTest, RefusesWhatIsNoArchive) {
  expect_refused("", "none at all");
  expect_refused("PK\3\4", "truncated");
  expect_refused(std::string(100'000, 'P'), "directory");
}

TEST_F(ZipTest, RefusesLies) {
  expect_refused(raw_zip({{"a", "x"}, {"a", "y"}}), "'a' appears twice");
  expect_refused(raw_zip({{"a", "x", 12, 1}}), "method 12");
  expect_refused(raw_zip({{"a", raw_deflated("x"), 8, 2}}), "'a'", "2 bytes");
  expect_refused(raw_zip({{"a", raw_deflated("xyz"), 8, 2}}), "'a'", "2 bytes");
  expect_refused(raw_zip({{"a", raw_deflated("x") + "more", 8, 1}}), "'a'");
  expect_refused(raw_zip({{"a", "no deflate", 8, 3}}), "'a'");
  expect_refused(raw_zip({{"a", std::string(1001, 'x')}}), "at most 1000");
  const ZipFile bomb = open(raw_zip({{"a", raw_deflated("x"), 8, 0x7fffffff}}));
  expect_error<DataError>([&] { bomb.read(bomb.entries()[0], ~0ull); },
                          "claims to unpack");
}

// The bytes of one field of the only entry replaced.
std::string with_field(size_t from_directory, const std::string& value) {
  std::string bytes = raw_zip({{"name", "data"}});
  const size_t directory = bytes.find("PK\1\2");
  return bytes.replace(directory + from_directory, value.size(), value);
}

TEST_F(ZipTest, RefusesADirectoryThatDisagreesWithTheFile) {
  expect_refused(with_field(8, "\1"), "encrypted");
  expect_refused(with_field(20, little_endian(5u)), "overlaps");
  expect_refused(with_field(20, little_endian(0x7fffffffu)), "overlaps");
  expect_refused(with_field(20, little_endian(3u)), "two different sizes");
  expect_refused(with_field(42, little_endian(1u)), "overlaps");
  expect_refused(with_field(42, little_endian(0xfffffff0u)), "overlaps");
  expect_refused(with_field(46, "n0me"), "another name");
  expect_refused(with_field(0, "PK\1\3"), "does not start");
  expect_refused(with_field(28, little_endian<uint16_t>(9)), "truncated");
  std::string count = raw_zip({{"name", "data"}});
  count.replace(count.find("PK\5\6") + 8, 4, "\xff\1\xff\1");
  expect_refused(count, "cannot hold 511");
}

TEST_F(ZipTest, RefusesEntriesThatShareBytes) {
  std::string bytes = raw_zip({{"a", "data"}, {"b", "data"}});
  const size_t second = bytes.find("PK\1\2", bytes.find("PK\1\2") + 1);
  bytes.replace(second + 42, 4, little_endian(0u));
  expect_refused(bytes, "overlaps");
}

TEST_F(ZipTest, RefusesEveryTruncation) {
  for (const bool zip64 : {false, true}) {
    const std::string good = raw_zip(three_entries(), zip64);
    const std::string path = dir_.write("a.zip", good);
    for (size_t size = good.size(); size > 0; --size) {
      std::filesystem::resize_file(path, size - 1);
      EXPECT_THROW(ZipFile{path}, DataError) << size - 1;
    }
  }
}

TEST_F(ZipTest, DamageNeverDoesMoreThanThrowDataError) {
  std::mt19937_64 random(3);
  for (const bool zip64 : {false, true}) {
    const std::string good = raw_zip(three_entries(), zip64);
    for (int i = 0; i < 300; ++i) {
      try {
        const ZipFile zip = open(damage(good, random));
        for (const ZipEntry& entry : zip.entries()) zip.read(entry, 1000);
      } catch (const DataError&) {
      }
    }
  }
}

}  // namespace
}  // namespace kith
