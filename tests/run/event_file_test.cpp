#include "kith/run/event_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/image/encode.h"
#include "kith/io/crc32c.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

uint64_t number_at(const std::string& bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    value |= uint64_t{static_cast<uint8_t>(bytes.at(at + i))} << (8 * i);
  }
  return value;
}

/// The data of all records; fails on a CRC that is wrong or a torn record.
std::vector<std::string> records(const std::string& path) {
  const std::string bytes = read_file(path, 1 << 24);
  std::vector<std::string> all;
  for (size_t at = 0; at < bytes.size();) {
    const uint64_t size = number_at(bytes, at, 8);
    EXPECT_EQ(number_at(bytes, at + 8, 4), masked_crc32c(bytes.substr(at, 8)));
    all.push_back(bytes.substr(at + 12, size));
    EXPECT_EQ(number_at(bytes, at + 12 + size, 4), masked_crc32c(all.back()));
    at += 16 + size;
  }
  return all;
}

/// A record without its time: field 1, a double, comes first.
std::string without_time(const std::string& event) {
  EXPECT_EQ(event.at(0), '\x09');
  const uint64_t bits = number_at(event, 1, 8);
  double seconds = 0;
  std::memcpy(&seconds, &bits, sizeof(seconds));
  EXPECT_NEAR(seconds, static_cast<double>(std::time(nullptr)), 60);
  return event.substr(9);
}

TEST(EventSummary, HoldsScalarsThatAreNumbers) {
  EventSummary summary;
  summary.add_scalar("a", NAN);
  EXPECT_TRUE(summary.message().empty());
  summary.add_scalar("a/b", 1.5);
  EXPECT_EQ(summary.message().bytes(), std::string("\x0A\x0A\x0A\x03"
                                                   "a/b\x15\0\0\xC0\x3F",
                                                   12));
}

TEST(EventSummary, HoldsPicturesAsPng) {
  const Image picture(3, 2, 3);
  EventSummary summary;
  summary.add_image("p", picture);
  const std::string& bytes = summary.message().bytes();
  const std::vector<uint8_t> png = encode_png(picture);
  EXPECT_TRUE(bytes.ends_with(std::string(png.begin(), png.end())));
  EXPECT_NE(bytes.find(std::string("\x08\x02\x10\x03\x18\x03\x22", 7)),
            std::string::npos);
}

TEST(EventSummary, HistogramsEndWhereTheirCountsDo) {
  EventSummary summary;
  summary.add_histogram("none", -1, 1, std::vector<int64_t>(4));
  EXPECT_TRUE(summary.message().empty());
  // Bins from -1, -0.5, 0 and 0.5; the first and last are empty.
  summary.add_histogram("h", -1, 1, std::vector<int64_t>{0, 3, 1, 0});
  ProtoMessage stored;
  stored.add_double(1, -0.5);
  stored.add_double(2, 0.5);
  stored.add_double(3, 4);
  stored.add_double(4, 3 * -0.25 + 0.25);
  stored.add_double(5, 4 * 0.0625);
  stored.add_doubles(6, std::vector<double>{0, 0.5});
  stored.add_doubles(7, std::vector<double>{3, 1});
  ProtoMessage value;
  value.add_bytes(1, "h");
  value.add_message(5, stored);
  ProtoMessage expected;
  expected.add_message(1, value);
  EXPECT_EQ(summary.message().bytes(), expected.bytes());
}

TEST(EventFile, BeginsWithVersionAndStart) {
  const TempDir folder;
  const EventFile file(folder.path(), 7);
  const std::vector<std::string> all = records(file.path());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(without_time(all[0]),
            "\x1A\x0D"
            "brain.Event:2");
  EXPECT_EQ(without_time(all[1]), "\x10\x07\x3A\x02\x08\x01");
}

TEST(EventFile, EventsAreInTheFileAtOnce) {
  const TempDir folder;
  EventFile file(folder.path(), 0);
  EventSummary summary;
  summary.add_scalar("x", 0);
  for (int64_t step = 1; step <= 3; ++step) {
    file.write(step, summary);
    const std::vector<std::string> all = records(file.path());
    ASSERT_EQ(all.size(), static_cast<size_t>(2 + step));
    EXPECT_EQ(without_time(all.back()),
              std::string("\x10") + static_cast<char>(step) + "\x2A\x0A" +
                  summary.message().bytes());
  }
}

TEST(EventFile, NamesSortInTheOrderOfTheFiles) {
  const TempDir folder;
  folder.write("events.out.tfevents.nonsense", "");
  folder.write("events.out.tfevents.99999999999999999999.far", "");
  std::vector<std::string> paths;
  for (int i = 0; i < 4; ++i) {
    paths.push_back(EventFile(folder.path(), 0).path());
    EXPECT_EQ(paths.back().rfind(folder.file("events.out.tfevents."), 0), 0u);
  }
  EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end()));
  EXPECT_EQ(std::unique(paths.begin(), paths.end()), paths.end());
}

TEST(EventFile, AFolderThatIsNotThereIsAnError) {
  const TempDir folder;
  expect_error<RunError>([&] { EventFile(folder.file("missing"), 0); },
                         "missing/events.out.tfevents");
}

}  // namespace
}  // namespace kith
