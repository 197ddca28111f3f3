#include "kith/io/safetensors.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/io/crc32c.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

std::string with_length(uint64_t length, std::string_view rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes.append(rest);
}

std::string file_of(std::string_view header, size_t data_size) {
  return with_length(header.size(),
                     std::string(header) + std::string(data_size, 'd'));
}

std::string entry(std::string_view dtype, std::string_view shape,
                  std::string_view offsets) {
  return R"({"dtype":")" + std::string(dtype) + R"(","shape":)" +
         std::string(shape) + R"(,"data_offsets":)" + std::string(offsets) +
         "}";
}

class SafetensorsTest : public ::testing::Test {
 protected:
  SafetensorsFile open(const std::string& bytes) {
    return SafetensorsFile(dir_.write("a.safetensors", bytes));
  }

  template <typename... Parts>
  void expect_refused(const std::string& bytes, const Parts&... parts) {
    expect_error<DataError>([&] { open(bytes); }, dir_.file("a.safetensors"),
                            parts...);
  }

  TempDir dir_;
};

TEST_F(SafetensorsTest, ReadsAFileWrittenByHand) {
  const std::string header = R"({"__metadata__":{"format":"pt"},"b":)" +
                             entry("I32", "[2]", "[4,12]") + R"(,"a":)" +
                             entry("F16", "[1,2]", "[0,4]") + R"(,"none":)" +
                             entry("F32", "[0,7]", "[4,4]") + "}  ";
  const SafetensorsFile file = open(with_length(
      header.size(), header + std::string("\1\2\3\4"
                                          "\5\0\0\0\xff\xff\xff\xff",
                                          12)));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.entries()[0].name, "a");
  EXPECT_EQ(file.read("a").values<uint16_t>()[1], 0x0403);
  EXPECT_EQ(file.read("b").values<int32_t>()[0], 5);
  EXPECT_EQ(file.read("b").values<int32_t>()[1], -1);
  EXPECT_EQ(file.read("none").shape, (std::vector<int64_t>{0, 7}));
  EXPECT_EQ(file.find("c"), nullptr);
  expect_error<DataError>([&] { file.read("c"); }, "a.safetensors", "'c'",
                          "holds 3");
}

TEST_F(SafetensorsTest, ReadsAFileWithoutTensors) {
  EXPECT_TRUE(open(file_of("{}", 0)).entries().empty());
}

TEST_F(SafetensorsTest, RoundTripsEveryDtype) {
  std::vector<std::pair<std::string, Array>> arrays;
  for (const DType dtype :
       {DType::kBool, DType::kF64, DType::kU8, DType::kF32, DType::kBF16,
        DType::kI64, DType::kF16, DType::kI32}) {
    Array array = make_array(dtype, {3, 1, 5});
    for (size_t i = 0; i < array.bytes.size(); ++i) {
      array.bytes[i] = static_cast<std::byte>(i * 7 % 251);
    }
    arrays.emplace_back("t." + std::string(dtype_name(dtype)), array);
  }
  arrays.emplace_back("scalar", make_array(DType::kF32, {}));
  arrays.emplace_back("empty", make_array(DType::kF32, {0}));
  arrays.emplace_back("odd \"name\" \n \xc3\xa9", make_array(DType::kU8, {1}));
  const std::map<std::string, std::string> metadata = {{"k", "v"},
                                                       {"step", "12"}};
  const std::string path = dir_.file("b.safetensors");
  write_safetensors(path, {arrays.begin(), arrays.end()}, metadata);

  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata(), metadata);
  EXPECT_EQ(file.entries().size(), arrays.size());
  for (const auto& [name, array] : arrays) {
    const Array back = file.read(name);
    EXPECT_EQ(back.dtype, array.dtype) << name;
    EXPECT_EQ(back.shape, array.shape) << name;
    EXPECT_EQ(back.bytes, array.bytes) << name;
    EXPECT_EQ(file.at(name).begin % static_cast<uint64_t>(size_of(back.dtype)),
              0u);
  }
}

TEST_F(SafetensorsTest, WritesKnownBytes) {
  const uint8_t small[] = {9};
  const float large[] = {1.0f};
  const std::string path = dir_.file("b.safetensors");
  write_safetensors(
      path, {{"s", {DType::kU8, {1}, small}}, {"l", {DType::kF32, {}, large}}});
  const std::string data("\0\0\x80\x3f\x09", 5);
  char sums[17];
  std::snprintf(sums, sizeof sums, "%08x%08x", crc32c(data.substr(0, 4)),
                crc32c(data.substr(4)));
  std::string header = R"({"__metadata__":{"kith.crc32c.header":"00000000",)"
                       R"("kith.crc32c.tensors":")" +
                       std::string(sums) + R"("},"l":)" +
                       entry("F32", "[]", "[0,4]") + R"(,"s":)" +
                       entry("U8", "[1]", "[4,5]") + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::snprintf(sums, sizeof sums, "%08x", crc32c(header));
  header.replace(header.find("00000000"), 8, sums, 8);
  EXPECT_EQ(read_file(path, 1000), with_length(header.size(), header + data));
}

// Every bit of a file: an error that says so, or the same contents (a key of
// the checksums that is no longer known as one).
TEST_F(SafetensorsTest, EveryBitCounts) {
  Array array = make_array(DType::kF32, {3, 2});
  for (size_t i = 0; i < array.bytes.size(); ++i) {
    array.bytes[i] = static_cast<std::byte>(i * 7 + 1);
  }
  const std::map<std::string, std::string> metadata = {{"k", "lr: 0.1"}};
  const std::string path = dir_.file("b.safetensors");
  write_safetensors(path, {{"first", array}, {"second", array}}, metadata);
  EXPECT_TRUE(is_whole_safetensors(path));
  const std::string whole = read_file(path, 1000);
  size_t told = 0;
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    dir_.write("b.safetensors", bytes);
    try {
      const SafetensorsFile file(path);
      for (const char* name : {"first", "second"}) {
        const Array read = file.read(name);
        EXPECT_EQ(read.bytes, array.bytes) << bit;
        EXPECT_EQ(read.shape, array.shape) << bit;
      }
      EXPECT_EQ(file.metadata().at("k"), "lr: 0.1") << bit;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
      ++told;
      if (bit % 64 == 0) {
        EXPECT_FALSE(is_whole_safetensors(path));
      }
    }
  }
  EXPECT_GT(told, 8 * (whole.size() - 40));
}

TEST_F(SafetensorsTest, NamesWhatIsDamaged) {
  const Array one = make_array(DType::kI64, {2});
  const std::string path = dir_.file("b.safetensors");
  write_safetensors(path, {{"a", one}, {"b", one}}, {{"k", "v"}});
  std::string bytes = read_file(path, 1000);
  bytes.back() ^= 1;
  const SafetensorsFile file = open(bytes);
  EXPECT_EQ(file.read("a").bytes, one.bytes);
  expect_error<DataError>([&] { file.read("b"); }, "a.safetensors", "damaged",
                          "'b'", "another copy");
  bytes[bytes.find("\"k\"") + 1] ^= 1;
  expect_refused(bytes, "damaged", "header", "another copy");
}

TEST_F(SafetensorsTest, RefusesToWriteBadNames) {
  const Array one = make_array(DType::kU8, {1});
  const std::string path = dir_.file("b.safetensors");
  expect_error<DataError>(
      [&] {
        write_safetensors(path, {{"x", one}, {"x", one}});
      },
      path, "'x'", "repeated");
  expect_error<DataError>(
      [&] {
        write_safetensors(path, {{"__metadata__", one}});
      },
      "__metadata__", "reserved");
  expect_error<DataError>(
      [&] {
        write_safetensors(path, {{"\xff", one}});
      },
      "not UTF-8");
  EXPECT_THROW(SafetensorsFile{path}, DataError);
}

TEST_F(SafetensorsTest, RefusesALyingHeaderLength) {
  expect_refused("", "not a safetensors file");
  expect_refused("1234567", "not a safetensors file");
  expect_refused(with_length(3, "{}"), "truncated", "claims 3");
  expect_refused(with_length(99'999'999, "{}"), "truncated");
  expect_refused(with_length(100'000'001, "{}"), "at most 100000000");
  expect_refused(with_length(~uint64_t{0}, "{}"), "at most 100000000");
}

TEST_F(SafetensorsTest, RefusesInvalidJson) {
  for (const std::string_view header :
       {"", "{", "{]", "{\"a\"}", "{} x", "{}{}", "{'a':1}", "{\"\xff\":1}",
        "{\"a\":nul}"}) {
    expect_refused(file_of(header, 0), "bad safetensors header",
                   "invalid JSON");
  }
}

TEST_F(SafetensorsTest, RefusesWrongTypes) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"[]", "expected an object, got an array"},
      {"1", "expected an object, got a number"},
      {"null", "expected an object, got null"},
      {R"({"a":1})", "'a': expected an object"},
      {R"({"a":[]})", "'a': expected an object"},
      {R"({"a":{}})", "'a': no dtype"},
      {R"({"a":{"dtype":"F32"}})", "'a': no shape"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", "'a': no data_offsets"},
      {R"({"a":{"dtype":1}})", "wrong type for 'dtype'"},
      {R"({"a":{"shape":"1"}})", "wrong type for 'shape'"},
      {R"({"a":{"shape":["1"]}})", "integers >= 0"},
      {R"({"a":{"shape":[[1]]}})", "integers >= 0"},
      {R"({"a":{"shape":[true]}})", "integers >= 0"},
      {R"({"a":{"shape":[1.5]}})", "integers >= 0"},
      {R"({"a":{"data_offsets":{}}})", "wrong type for 'data_offsets'"},
      {R"({"a":{"other":1}})", "unknown key 'other'"},
      {R"({"__metadata__":[]})", "'__metadata__': expected an object"},
      {R"({"__metadata__":{"k":1}})", "'k' must be a string"},
      {R"({"__metadata__":{"k":{}}})", "'k' must be a string"},
      {"{\"a\":" + entry("F32", "[1]", "[0]") + "}", "[begin, end]"},
      {"{\"a\":" + entry("F32", "[1]", "[0,4,8]") + "}", "[begin, end]"},
  };
  for (const auto& [header, part] : cases) {
    expect_refused(file_of(header, 4), "bad safetensors header", part);
  }
}

TEST_F(SafetensorsTest, RefusesRepeatedKeys) {
  const std::string one = entry("F32", "[1]", "[0,4]");
  expect_refused(file_of("{\"a\":" + one + ",\"a\":" + one + "}", 4),
                 "'a': appears twice");
  expect_refused(file_of(R"({"__metadata__":{},"__metadata__":{}})", 0),
                 "'__metadata__': appears twice");
  expect_refused(file_of(R"({"__metadata__":{"k":"1","k":"2"}})", 0),
                 "'k' appears twice");
  expect_refused(file_of(R"({"a":{"shape":[1],"shape":[1]}})", 0),
                 "'shape' appears twice");
  expect_refused(file_of(R"({"a":{"dtype":"U8","dtype":"U8"}})", 0),
                 "'dtype' appears twice");
}

TEST_F(SafetensorsTest, NamesTensorAndUnknownDtype) {
  expect_refused(
      file_of("{\"layer.weight\":" + entry("F8_E5M2", "[4]", "[0,4]") + "}", 4),
      "'layer.weight'", "'F8_E5M2'", "BF16");
}

TEST_F(SafetensorsTest, RefusesBadShapes) {
  for (const std::string_view shape :
       {"[-1]", "[9223372036854775808]", "[99999999999999999999999]"}) {
    expect_refused(file_of("{\"a\":" + entry("F32", shape, "[0,4]") + "}", 4),
                   "'a'");
  }
  for (const std::string_view shape :
       {"[9223372036854775807]", "[4294967296,4294967296]",
        "[0,4294967296,4294967296]"}) {
    expect_refused(file_of("{\"a\":" + entry("F32", shape, "[0,4]") + "}", 4),
                   "'a'", "too large");
  }
  std::string deep = "[1";
  for (int i = 0; i < 64; ++i) deep += ",1";
  expect_refused(
      file_of("{\"a\":" + entry("F32", deep + "]", "[0,4]") + "}", 4),
      "more than 64 dimensions");
}

TEST_F(SafetensorsTest, RefusesBadRanges) {
  const auto one = [](std::string_view offsets) {
    return "{\"a\":" + entry("F32", "[2]", offsets) + "}";
  };
  expect_refused(file_of(one("[8,0]"), 8), "'a'", "begin 8");
  expect_refused(file_of(one("[0,4]"), 8), "'a'", "need 8 bytes");
  expect_refused(file_of(one("[0,12]"), 12), "'a'", "need 8 bytes");
  expect_refused(file_of(one("[-8,0]"), 8), "'a'", "integers >= 0");
  expect_refused(file_of(one("[0,8]"), 7), "'a'", "truncated");
  expect_refused(file_of(one("[8,16]"), 8), "'a'", "beyond");
  expect_refused(file_of(one("[18446744073709551608,18446744073709551616]"), 8),
                 "'a'");
  expect_refused(file_of(one("[18446744073709551607,18446744073709551615]"), 8),
                 "'a'", "beyond");
  expect_refused(file_of(one("[0,8]"), 9), "1 bytes", "no tensor");
  expect_refused(file_of(one("[1,9]"), 9), "'a'", "gap");
}

TEST_F(SafetensorsTest, RefusesOverlapAndGap) {
  const auto two = [](std::string_view a, std::string_view b) {
    return "{\"a\":" + entry("F32", "[2]", a) +
           ",\"b\":" + entry("F32", "[2]", b) + "}";
  };
  EXPECT_NO_THROW(open(file_of(two("[8,16]", "[0,8]"), 16)));
  expect_refused(file_of(two("[0,8]", "[4,12]"), 12), "'b'", "overlapping");
  expect_refused(file_of(two("[0,8]", "[0,8]"), 8), "'b'", "overlapping");
  expect_refused(file_of(two("[0,8]", "[12,20]"), 20), "'b'", "gap");
}

TEST_F(SafetensorsTest, SurvivesDeepNesting) {
  const size_t depth = 2'000'000;
  expect_refused(file_of(std::string(depth, '['), 0), "got an array");
  std::string objects;
  for (size_t i = 0; i < depth / 5; ++i) objects += "{\"a\":";
  expect_refused(file_of(objects, 0), "bad safetensors header");
}

TEST_F(SafetensorsTest, MessagesStayOnOneShortLine) {
  const std::string header = "{\"" + std::string(5000, 'x') + "\\n\":1}";
  try {
    open(file_of(header, 0));
    ADD_FAILURE();
  } catch (const DataError& error) {
    const std::string message = error.what();
    EXPECT_LT(message.size(), 400u);
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST_F(SafetensorsTest, DamageNeverDoesMoreThanThrowDataError) {
  std::mt19937_64 random(2);
  const std::string header = R"({"__metadata__":{"k":"v"},"a":)" +
                             entry("F32", "[2,2]", "[0,16]") + R"(,"b":)" +
                             entry("U8", "[3]", "[16,19]") + "}";
  const std::string good = file_of(header, 19);
  ASSERT_NO_THROW(open(good));
  for (int i = 0; i < 4000; ++i) {
    const std::string bytes = damage(good, random);
    try {
      const SafetensorsFile file = open(bytes);
      for (const auto& tensor : file.entries()) file.read(tensor.name);
    } catch (const DataError&) {
    }
  }
}

}  // namespace
}  // namespace kith
