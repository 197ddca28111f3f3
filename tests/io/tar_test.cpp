#include "kith/io/tar.h"

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/raw_tar.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

class TarTest : public ::testing::Test {
 protected:
  std::vector<TarEntry> list(const std::string& bytes) const {
    return read_tar(FileReader(dir_.write("a.tar", bytes)));
  }
  /// "name=contents" of every file.
  std::vector<std::string> read(const std::string& path) const {
    const FileReader archive(path);
    std::vector<std::string> files;
    for (const TarEntry& entry : read_tar(archive)) {
      files.push_back(entry.name + "=" + read_tar_entry(archive, entry, 2000));
    }
    return files;
  }
  std::vector<std::string> read_bytes(const std::string& bytes) const {
    return read(dir_.write("a.tar", bytes));
  }
  template <typename... Parts>
  void expect_refused(const std::string& bytes, const Parts&... parts) const {
    expect_error<DataError>([&] { list(bytes); }, dir_.file("a.tar"), parts...);
  }

  TempDir dir_;
};

using Names = std::vector<std::string>;

TEST_F(TarTest, ReadsFilesAndLeavesOutWhatIsNone) {
  const std::string bytes = raw_tar({{"folder/", "", '5'},
                                     {"one", "first"},
                                     {"two", std::string(512, 'x'), '\0'},
                                     {"link", "", '2'},
                                     {"empty"},
                                     {"name", "third", '0', "", "some/folder"},
                                     {"four", "fourth", '7'}});
  const Names expected = {"one=first", "two=" + std::string(512, 'x'),
                          "empty=", "some/folder/name=third", "four=fourth"};
  EXPECT_EQ(read_bytes(bytes), expected);
  // Some programs write one empty block at the end, or none.
  for (const size_t less : {size_t{512}, size_t{1024}, size_t{1024 + 506}}) {
    EXPECT_EQ(read_bytes(bytes.substr(0, bytes.size() - less)), expected);
  }
  EXPECT_TRUE(list(std::string(1024, '\0')).empty());
}

TEST_F(TarTest, ReadsLongNamesAndLargeSizes) {
  const std::string name = std::string(200, 'n') + "/" + std::string(90, 'm');
  EXPECT_EQ(read_bytes(raw_tar(
                {{"././@LongLink", name + std::string(1, '\0'), 'L'},
                 {name, "gnu"},
                 {"././@PaxHeader",
                  pax_record("mtime", "1.5") + pax_record("path", name) +
                      pax_record("size", "3"),
                  'x'},
                 {"short", "pax", '0', "77777777777"},
                 {"of_its_own", "own"}})),
            Names({name + "=gnu", name + "=pax", "of_its_own=own"}));
  std::string binary = "\x80" + std::string(11, '\0');
  binary.back() = '\x05';
  EXPECT_EQ(read_bytes(raw_tar({{"a", "12345", '0', binary}})),
            Names({"a=12345"}));
}

TEST_F(TarTest, ReadsWhatTarWrites) {
  const std::string name = std::string(60, 'n');
  std::filesystem::create_directories(dir_.file(name + "/" + name));
  dir_.write("small", "1");
  dir_.write(name + "/" + name + "/" + name, std::string(1500, 'x'));
  for (const std::string form : {"gnu", "ustar", "pax"}) {
    const std::string path = dir_.file(form + ".tar");
    const std::string command = "tar --format=" + form + " -C " + dir_.path() +
                                " -cf " + path + " small " + name;
    ASSERT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(read(path), Names({"small=1", name + "/" + name + "/" + name +
                                                "=" + std::string(1500, 'x')}))
        << form;
  }
}

TEST_F(TarTest, RefusesWhatIsDamaged) {
  const std::string whole = raw_tar({{"one", std::string(600, 'x')}, {"two"}});
  expect_refused("", "not a tar archive");
  expect_refused("\x1f\x8b" + std::string(1000, 'z'), "not a tar archive",
                 "compressed", "unpacked first");
  expect_refused(whole.substr(0, 900), "broken", "byte 0", "ends within",
                 "600 bytes", "truncated");
  std::string bytes = whole;
  bytes[1536] ^= 1;
  expect_refused(bytes, "broken", "byte 1536", "checksum");
  expect_refused(raw_tar({{"a", "", '0', "7777777777"}}), "ends within");
  expect_refused(raw_tar({{"a", "", '0', std::string(12, '\xff')}}), "no size");
  expect_refused(raw_tar({{"a", "", '0', "9"}}), "no size");
  expect_refused(raw_tar({{"p", "5 a=b\n", 'x'}, {"a"}}), "extended header");
  expect_refused(raw_tar({{"p", "999 a=b\n", 'x'}, {"a"}}), "extended header");
  expect_refused(raw_tar({{"p", "6 abc\n", 'x'}, {"a"}}), "extended header");
  expect_refused(raw_tar({{"p", pax_record("size", "9x"), 'x'}, {"a"}}),
                 "'9x'");
  expect_refused(
      raw_tar({{"p", pax_record("size", "99999999999999999999"), 'x'}, {"a"}}),
      "the size");
  expect_refused(
      raw_tar({{"p", pax_record("GNU.sparse.major", "1"), 'x'}, {"a"}}),
      "sparse");
}

TEST_F(TarTest, RefusesAnArchiveThatWasWrittenAgain) {
  const std::string path =
      dir_.write("a.tar", raw_tar({{"a", "first"}, {"b", "second"}}));
  const TarEntry entry = read_tar(FileReader(path)).at(1);
  dir_.write("a.tar", raw_tar({{"a", "first"}, {"c", "second"}}));
  expect_error<DataError>([&] { read_tar_entry(FileReader(path), entry, 100); },
                          path, "changed", "'b'", "start again");
  expect_error<DataError>([&] { read_tar_entry(FileReader(path), entry, 5); },
                          path, "'b' has 6 bytes");
}

TEST_F(TarTest, DamageIsAnErrorOrHarmless) {
  const std::string whole =
      raw_tar({{"././@LongLink", std::string(150, 'n'), 'L'},
               {"n", "first"},
               {"p", pax_record("path", "q"), 'x'},
               {"two", "second"}});
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    try {
      read_bytes(damage(whole, random));
    } catch (const DataError&) {
    }
  }
}

}  // namespace
}  // namespace kith
