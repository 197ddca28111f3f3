#include "kith/io/npy.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

// The bytes 0 .. n-1.
std::string ramp(size_t n) {
  std::string bytes(n, '\0');
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

std::string npy(char major, std::string_view dict, std::string_view data) {
  std::string bytes = "\x93NUMPY";
  bytes += {major, '\0', static_cast<char>(dict.size() & 255),
            static_cast<char>(dict.size() >> 8)};
  if (major > 1) bytes += {'\0', '\0'};
  return bytes.append(dict).append(data);
}

std::string dict_of(std::string_view descr, std::string_view shape,
                    std::string_view fortran = "False") {
  return "{'descr': " + std::string(descr) +
         ", 'fortran_order': " + std::string(fortran) +
         ", 'shape': " + std::string(shape) + ", }\n";
}

class NpyTest : public ::testing::Test {
 protected:
  Array read(const std::string& bytes) {
    return read_npy(dir_.write("a.npy", bytes));
  }

  template <typename... Parts>
  void expect_refused(const std::string& bytes, const Parts&... parts) {
    expect_error<DataError>([&] { read(bytes); }, dir_.file("a.npy"), parts...);
  }

  TempDir dir_;
};

TEST_F(NpyTest, ReadsVersionsOneToThree) {
  const float values[] = {1.0f, -2.5f, 3e7f, 0.0f, 1e-3f, 6.0f};
  const std::string data(reinterpret_cast<const char*>(values), sizeof values);
  for (const char version : {'\1', '\2', '\3'}) {
    const Array array = read(npy(version, dict_of("'<f4'", "(2, 3)"), data));
    EXPECT_EQ(array.dtype, DType::kF32);
    EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_TRUE(std::ranges::equal(array.values<float>(), values));
  }
}

TEST_F(NpyTest, ReadsEveryType) {
  const std::pair<std::string, DType> cases[] = {
      {"'<f2'", DType::kF16}, {"'<f4'", DType::kF32}, {"'<f8'", DType::kF64},
      {"'<i4'", DType::kI32}, {"'<i8'", DType::kI64}, {"'|u1'", DType::kU8},
      {"'|b1'", DType::kBool}};
  for (const auto& [descr, dtype] : cases) {
    const std::string data = ramp(static_cast<size_t>(3 * size_of(dtype)));
    const Array array = read(npy(1, dict_of(descr, "(3,)"), data));
    EXPECT_EQ(array.dtype, dtype) << descr;
    EXPECT_EQ(array.count(), 3);
    EXPECT_EQ(std::memcmp(array.bytes.data(), data.data(), data.size()), 0);
  }
}

TEST_F(NpyTest, AcceptsVariationsOfTheDict) {
  const std::string data = ramp(24);
  for (const std::string_view dict :
       {"{'descr':'<f4','fortran_order':False,'shape':(2,3)}",
        "  { 'shape' : ( 2 , 3 , ) , 'fortran_order' : False ,\n"
        "\t'descr' : \"<f4\" , }   \r\n",
        "{\"shape\": (2, 3), \"descr\": '<f4', \"fortran_order\": False}\n"}) {
    EXPECT_EQ(read(npy(1, dict, data)).shape, (std::vector<int64_t>{2, 3}));
  }
}

TEST_F(NpyTest, ReadsScalarVectorAndEmpty) {
  EXPECT_EQ(read(npy(1, dict_of("'<f8'", "()"), ramp(8))).count(), 1);
  EXPECT_EQ(read(npy(1, dict_of("'<f4'", "(0, 128)"), "")).count(), 0);
  // A vector is the same in both orders.
  const Array vector = read(npy(1, dict_of("'<i4'", "(2,)", "True"), ramp(8)));
  EXPECT_EQ(vector.values<int32_t>()[1], 0x07060504);
}

TEST_F(NpyTest, WritesTheBytesNumpyWrites) {
  const int64_t values[] = {7, -1};
  const std::string path = dir_.file("a.npy");
  write_npy(path, {DType::kI64, {2}, values});
  std::string header =
      "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }";
  header.resize(117, ' ');
  const std::string expected =
      std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" +
      std::string("\7\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 16);
  EXPECT_EQ(read_file(path, 1000), expected);
  EXPECT_EQ((expected.size() - sizeof values) % 64, 0u);
}

TEST_F(NpyTest, RoundTrips) {
  const std::vector<std::vector<int64_t>> shapes = {
      {}, {0}, {5}, {3, 4}, {2, 0, 3}, {2, 3, 4, 5}};
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kI64,
                            DType::kI32, DType::kU8, DType::kBool}) {
    for (const auto& shape : shapes) {
      Array array = make_array(dtype, shape);
      for (size_t i = 0; i < array.bytes.size(); ++i) {
        array.bytes[i] = static_cast<std::byte>(i % 2);
      }
      write_npy(dir_.file("b.npy"), array);
      const Array back = read_npy(dir_.file("b.npy"));
      EXPECT_EQ(back.dtype, dtype);
      EXPECT_EQ(back.shape, shape);
      EXPECT_EQ(back.bytes, array.bytes);
    }
  }
}

TEST_F(NpyTest, CannotWriteBfloat16) {
  expect_error<DataError>(
      [&] { write_npy(dir_.file("b.npy"), make_array(DType::kBF16, {2})); },
      "b.npy", "bf16", "f32");
}

TEST_F(NpyTest, RefusesOtherFilesAndVersions) {
  expect_refused("", "not an npy file");
  expect_refused("\x93NUMPY", "not an npy file");
  expect_refused("PK\x03\x04 a zip, so perhaps an npz", "not an npy file");
  expect_refused(npy(4, dict_of("'<f4'", "(1,)"), ramp(4)), "version 4.0");
  expect_error<DataError>([&] { read_npy(dir_.file("none.npy")); }, "none.npy",
                          "No such file");
  expect_error<DataError>([&] { read_npy(dir_.path()); }, dir_.path(),
                          "not a regular file");
}

TEST_F(NpyTest, RefusesTypesWithARemedy) {
  expect_refused(npy(1, dict_of("'>f4'", "(1,)"), ramp(4)), "big-endian",
                 "newbyteorder");
  expect_refused(npy(1, dict_of("'|O'", "(1,)"), ramp(8)), "object", "astype");
  expect_refused(npy(1, dict_of("[('x', '<f4')]", "(1,)"), ramp(4)),
                 "structured", "one plain array");
  expect_refused(npy(1, dict_of("'<c8'", "(1,)"), ramp(8)), "'<c8'", "'<f4'");
  expect_refused(npy(1, dict_of("'<f4'", "(2, 2)", "True"), ramp(16)),
                 "Fortran order", "np.ascontiguousarray");
}

TEST_F(NpyTest, RefusesALyingShape) {
  const std::string small = ramp(16);
  for (const std::string_view shape :
       {"(5,)", "(1000000000000,)", "(1000000, 1000000)",
        "(999999999999999999, 999999999999999999)",
        "(0, 999999999999999999, 999999999999999999)"}) {
    expect_refused(npy(1, dict_of("'<f4'", shape), small), "16 bytes",
                   "truncated");
  }
  expect_refused(npy(1, dict_of("'<f4'", "(3,)"), small), "trailing bytes");
  expect_refused(npy(1, dict_of("'<f4'", "(0,)"), small), "trailing bytes");
  expect_refused(npy(1, dict_of("'<f4'", "(-4,)"), small), "negative");
  expect_refused(npy(1, dict_of("'<f4'", "(9999999999999999999,)"), small),
                 "too large");
}

TEST_F(NpyTest, RefusesALyingHeaderLength) {
  const std::string good = npy(2, dict_of("'<f4'", "(4,)"), ramp(16));
  std::string bytes = good;
  bytes[11] = '\x7f';
  expect_refused(bytes, "truncated", "the header claims");
  bytes = good.substr(0, 40);
  expect_refused(bytes, "truncated", "the header claims");
  expect_refused(good.substr(0, 11), "truncated");
}

TEST_F(NpyTest, RefusesAMalformedDict) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "expected '{'"},
      {"{}", "no 'descr'"},
      {"{'descr': '<f4', 'shape': (1,)}", "no 'fortran_order'"},
      {"{'descr': '<f4', 'fortran_order': False}", "no 'shape'"},
      {"{'descr': '<f4', 'descr': '<f4'}", "repeated key 'descr'"},
      {"{'extra': 1}", "unknown or repeated key 'extra'"},
      {"{'descr': '<f4'", "expected '}'"},
      {"{'descr': '<f4' 'shape': (1,)}", "expected '}'"},
      {"{'descr': '<f4", "unterminated"},
      {"{'descr': 4}", "expected a string"},
      {"{'fortran_order': 0}", "True or False"},
      {"{'shape': 1}", "expected '('"},
      {"{'shape': (1)}", "expected ','"},
      {"{'shape': (1,, 2)}", "expected a dimension"},
      {"{'shape': (1L,)}", "expected ','"},
      {"{'shape': (1.5,)}", "expected ','"},
      {"{'shape': (1,", "expected a dimension"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "after"},
  };
  for (const auto& [dict, part] : cases) {
    expect_refused(npy(1, dict, ramp(4)), "bad npy header", part);
  }
  const std::string many(400, '1');
  std::string shape = "(";
  for (const char c : many) shape += {c, ','};
  expect_refused(npy(1, dict_of("'<f4'", shape + ")"), ramp(4)),
                 "more than 64 dimensions");
}

TEST_F(NpyTest, IsTheSameFileInPieces) {
  Array array = make_array(DType::kF32, {3, 2});
  for (size_t i = 0; i < 6; ++i) {
    array.values<float>()[i] = static_cast<float>(i);
  }
  const std::string whole = dir_.file("whole.npy");
  const std::string pieces = dir_.file("pieces.npy");
  write_npy(whole, array);
  write_npy(pieces, array.dtype, array.shape, [&](FileWriter& writer) {
    writer.write(array.bytes.data(), 8);
    writer.write(array.bytes.data() + 8, 16);
  });
  EXPECT_EQ(read_file(pieces, 1000), read_file(whole, 1000));
}

TEST_F(NpyTest, DamageNeverDoesMoreThanThrowDataError) {
  std::mt19937_64 random(1);
  const std::string good = npy(1, dict_of("'<f4'", "(2, 3)"), ramp(24));
  for (int i = 0; i < 3000; ++i) {
    const std::string path = dir_.write("a.npy", damage(good, random));
    try {
      const Array array = read_npy(path);
      EXPECT_LE(array.bytes.size(), good.size() + 16);
    } catch (const DataError&) {
    }
  }
}

}  // namespace
}  // namespace kith
