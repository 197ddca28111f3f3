#include "kith/index/flat_file.h"

#include <cstring>
#include <random>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

void write(const std::string& path, const Tensor& rows) {
  write_flat_file(path, rows.size(1),
                  [&](FlatFileWriter& file) { file.add(rows); });
}

/// A header in the format's own terms, not by the writer.
std::string header(const char* mark, int32_t dim, int64_t count, int32_t metric,
                   uint64_t numbers) {
  std::string bytes(mark, 4);
  const auto put = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  put(dim);
  put(count);
  put(int64_t{1} << 20);
  put(int64_t{1} << 20);
  put(uint8_t{1});
  put(metric);
  put(numbers);
  return bytes;
}

class FlatFileTest : public ::testing::Test {
 protected:
  template <class... Parts>
  void expect_refused(const std::string& bytes, const Parts&... parts) {
    const std::string path = folder_.write("bad.faiss", bytes);
    expect_error<DataError>([&] { FlatFile{path}; }, path, parts...);
  }

  TempDir folder_;
};

TEST_F(FlatFileTest, IsTheFormatOfFaiss) {
  const Tensor x = random_normal({3, 2}, 1, at::kFloat);
  write(folder_.file("x"), x);
  std::string expected = header("IxFI", 2, 3, 0, 6);
  expected.append(static_cast<const char*>(x.data_ptr()), 24);
  EXPECT_EQ(read_file(folder_.file("x"), 1000), expected);
}

TEST_F(FlatFileTest, IsWrittenAndReadInBlocks) {
  const Tensor x = random_normal({50, 8}, 2, at::kFloat);
  const std::string path = folder_.file("x");
  write_flat_file(path, 8, [&](FlatFileWriter& file) {
    for (int64_t i = 0; i < 50; i += 20) file.add(x.slice(0, i, i + 20));
  });
  const FlatFile file(path);
  EXPECT_EQ(file.count(), 50);
  EXPECT_EQ(file.dim(), 8);
  EXPECT_TRUE(same_bits(file.read(13, 20), x.slice(0, 13, 33)));
  EXPECT_EQ(file.read(50, 0).size(0), 0);
  EXPECT_TRUE(same_bits(file.read_all(at::kCPU), x));
}

TEST_F(FlatFileTest, CanBeEmpty) {
  write_flat_file(folder_.file("x"), 4, [](FlatFileWriter&) {});
  const FlatFile file(folder_.file("x"));
  EXPECT_EQ(file.count(), 0);
  EXPECT_EQ(file.dim(), 4);
}

TEST_F(FlatFileTest, AFailureLeavesTheOldFile) {
  const Tensor x = random_normal({3, 2}, 1, at::kFloat);
  const std::string path = folder_.file("x");
  write(path, x);
  EXPECT_THROW(write_flat_file(path, 2,
                               [&](FlatFileWriter& file) {
                                 file.add(x);
                                 throw RunError("no more");
                               }),
               RunError);
  EXPECT_EQ(FlatFile(path).count(), 3);
  EXPECT_THROW(write(path, torch::full({2, 2}, NAN)), c10::ValueError);
  EXPECT_TRUE(same_bits(FlatFile(path).read(0, 3), x));
}

TEST_F(FlatFileTest, RefusesWhatItCannotSearch) {
  const std::string numbers(24, '\0');
  expect_refused("", "too short");
  expect_refused(std::string(60, 'x'), "not an index", "IndexFlatIP");
  expect_refused(header("IxF2", 2, 3, 1, 6) + numbers, "Euclidean",
                 "IndexFlatIP");
  expect_refused(header("IxFI", 2, 3, 1, 6) + numbers, "metric 1");
}

TEST_F(FlatFileTest, BelievesNoSizeThatTheFileDoesNotHave) {
  const std::string numbers(24, '\0');
  const int64_t huge = int64_t{1} << 62;
  expect_refused(header("IxFI", 2, 3, 0, 6), "3 vectors of 2", "0 numbers");
  expect_refused(header("IxFI", 2, 3, 0, 6) + numbers.substr(1), "damaged");
  expect_refused(header("IxFI", 2, 3, 0, 6) + numbers + "1", "1 bytes too");
  expect_refused(header("IxFI", 2, 4, 0, 6) + numbers, "damaged");
  expect_refused(header("IxFI", 0, 3, 0, 0), "damaged");
  expect_refused(header("IxFI", -2, -3, 0, 6) + numbers, "damaged");
  expect_refused(header("IxFI", 2, huge, 0, uint64_t{1} << 63) + numbers,
                 "damaged");
  expect_refused(header("IxFI", 1 << 30, huge, 0, 0) + numbers, "damaged");
}

TEST_F(FlatFileTest, NamesAVectorThatIsNotFinite) {
  Tensor x = random_normal({5, 2}, 1, at::kFloat);
  x[3][1] = NAN;
  std::string bytes = header("IxFI", 2, 5, 0, 10);
  bytes.append(static_cast<const char*>(x.data_ptr()), 40);
  const FlatFile file(folder_.write("nan", bytes));
  EXPECT_EQ(file.read(0, 3).size(0), 3);
  expect_error<DataError>([&] { file.read(2, 3); }, file.path(), "row 3");
}

TEST_F(FlatFileTest, DamageIsAnErrorOrAnotherIndex) {
  write(folder_.file("x"), random_normal({4, 3}, 1, at::kFloat));
  const std::string whole = read_file(folder_.file("x"), 1000);
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    const std::string path = folder_.write("y", damage(whole, random));
    try {
      const FlatFile file(path);
      EXPECT_LE(file.byte_size(), 200);
      file.read(0, file.count());
    } catch (const DataError&) {
    }
  }
}

}  // namespace
}  // namespace kith
