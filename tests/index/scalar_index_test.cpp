// Vectors with 16 or 8 bits a number: codes, the file of faiss, the index.

#include "kith/index/scalar_index.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/index/kinds.h"
#include "kith/index/recall.h"
#include "kith/index/scalar_file.h"
#include "kith/ops/pairwise.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

Tensor unit_vectors(int64_t n, int64_t d, uint64_t seed) {
  return normalize_rows(random_normal({n, d}, seed, at::kFloat));
}

std::unique_ptr<VectorIndex> make_index(const std::string& kind,
                                        const Tensor& x) {
  auto index =
      vector_index_registry().make(parse_config("{name: " + kind + "}", "test"),
                                   "index", {x.size(1), 0, x.size(0)});
  if (index->training_rows() > 0) index->train(x);
  return index;
}

/// As the formula says it, in double.
TEST(ScalarCodeTest, EightBitsAreStepsOfTheRange) {
  const Tensor x = unit_vectors(50, 5, 1);
  const ScalarCode code = ScalarCode::int8_of(x.slice(0, 0, 30));
  const Tensor codes = code.encode(x);
  const Tensor decoded = code.decode(codes);
  ASSERT_EQ(codes.sizes(), x.sizes());
  for (int64_t j = 0; j < 5; ++j) {
    double low = INFINITY;
    double high = -INFINITY;
    for (int64_t i = 0; i < 30; ++i) {
      low = std::min(low, double{x[i][j].item<float>()});
      high = std::max(high, double{x[i][j].item<float>()});
    }
    const double width = high - low;
    for (int64_t i = 0; i < 50; ++i) {
      const double number = x[i][j].item<float>();
      const double part = std::clamp((number - low) / width, 0.0, 1.0);
      const auto found = static_cast<double>(codes[i][j].item<uint8_t>());
      // Rounding may take a number on a step's edge to its neighbour.
      EXPECT_NEAR(found, std::floor(255 * part),
                  255 * part - std::floor(255 * part) < 1e-4 ? 1 : 0);
      const double stands_for = decoded[i][j].item<float>();
      EXPECT_NEAR(stands_for, low + width * (found + 0.5) / 255, 1e-6);
      if (part > 0 && part < 1) {
        EXPECT_LE(std::abs(stands_for - number), width / 510 + 1e-6);
      }
    }
  }
  EXPECT_TRUE(torch::equal(code.encode(decoded), codes));
}

TEST(ScalarCodeTest, ANumberThatNeverVariesIsKept) {
  Tensor x = unit_vectors(20, 3, 1);
  x.select(1, 1).fill_(0.25);
  const ScalarCode code = ScalarCode::int8_of(x);
  EXPECT_TRUE(
      torch::equal(code.decode(code.encode(x)).select(1, 1), x.select(1, 1)));
}

TEST(ScalarCodeTest, HalfPrecisionRounds) {
  const Tensor x = unit_vectors(40, 6, 1);
  const ScalarCode code = ScalarCode::float16(6);
  EXPECT_EQ(code.encode(x).sizes(), (std::vector<int64_t>{40, 12}));
  EXPECT_TRUE(torch::equal(code.decode(code.encode(x)),
                           x.to(at::kHalf).to(at::kFloat)));
}

class ScalarIndexes : public ::testing::TestWithParam<const char*> {
 protected:
  TempDir folder_;
  std::string path_ = folder_.file("a.faiss");
};

/// What codes stand for, searched by a double loop.
TEST_P(ScalarIndexes, FindWhatTheRoundedVectorsSay) {
  const Tensor x = unit_vectors(300, 16, 1);
  const Tensor queries = unit_vectors(20, 16, 2);
  const auto index = make_index(GetParam(), x);
  EXPECT_EQ(index->search(queries, 5).indices.size(1), 0);
  for (int64_t i = 0; i < 300; i += 70) index->add(x.slice(0, i, i + 70));
  EXPECT_FALSE(index->exact());
  const Tensor kept = index->rows().read(0, 300).to(at::kDouble);
  EXPECT_LE(max_difference(kept, x),
            std::string(GetParam()) == "int8" ? 0.01 : 5e-4);
  const Neighbours found = index->search(queries, 7);
  for (int64_t q = 0; q < 20; ++q) {
    std::vector<std::pair<double, int64_t>> all;
    for (int64_t i = 0; i < 300; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < 16; ++j) {
        sum += queries[q][j].item<double>() * kept[i][j].item<double>();
      }
      all.emplace_back(-static_cast<float>(sum), i);
    }
    std::sort(all.begin(), all.end());
    for (int64_t k = 0; k < 7; ++k) {
      EXPECT_EQ(found.indices[q][k].item<int64_t>(), all[k].second);
      EXPECT_EQ(found.similarities[q][k].item<float>(), -all[k].first);
    }
  }
  EXPECT_GE(measure_recall(*index, x).at("10@10"), 0.97);
}

TEST_P(ScalarIndexes, AreTheSameFromAFileInMemoryOrInBlocks) {
  const Tensor x = unit_vectors(90, 8, 3);
  const Tensor more = unit_vectors(20, 8, 4);
  const Tensor queries = unit_vectors(10, 8, 5);
  const auto made = make_index(GetParam(), x);
  made->add(x);
  made->save(path_);
  made->add(more);
  const Neighbours expected = made->search(queries, 30);
  for (const int64_t memory_mb : {1, 0}) {
    const auto index = load_vector_index(path_, memory_mb);
    EXPECT_EQ(index->dim(), 8);
    index->add(more.slice(0, 0, 5));
    index->add(more.slice(0, 5, 20));
    EXPECT_EQ(index->count(), 110);
    const Neighbours found = index->search(queries, 30);
    EXPECT_TRUE(same_bits(found.indices, expected.indices));
    EXPECT_TRUE(same_bits(found.similarities, expected.similarities));
    const std::string other = folder_.file("b.faiss");
    index->save(other);
    EXPECT_TRUE(same_bits(load_vector_index(other)->search(queries, 30).indices,
                          expected.indices));
    EXPECT_EQ(read_file(other, 1 << 20).size(),
              read_file(path_, 1 << 20).size() +
                  20 * (std::string(GetParam()) == "int8" ? 8 : 16));
  }
}

TEST_P(ScalarIndexes, LeaveRowsThatAreNotInMemoryWhereTheyAre) {
  const Tensor x = unit_vectors(60, 8, 3);
  int64_t most = 0;
  const auto part = [&](int64_t begin, int64_t end) {
    return rows_from(end - begin, 8, [&, begin](int64_t first, int64_t rows) {
      most = std::max(most, rows);
      return x.slice(0, begin + first, begin + first + rows);
    });
  };
  const auto whole = make_index(GetParam(), x);
  whole->add(x);
  const auto index = make_index(GetParam(), x);
  index->add_rows(part(0, 30));
  EXPECT_EQ(most, 0) << "none is read before it is needed";
  index->add_rows(part(30, 50));
  index->add_rows(x.slice(0, 50, 60));
  whole->save(path_);
  index->save(folder_.file("b.faiss"));
  EXPECT_EQ(read_file(path_, 1 << 20),
            read_file(folder_.file("b.faiss"), 1 << 20));
  // Over the file that it reads.
  const auto opened = load_vector_index(path_, 0);
  opened->add(x.slice(0, 0, 3));
  opened->save(path_);
  EXPECT_EQ(load_vector_index(path_)->count(), 63);
  EXPECT_THROW(index->add_rows(unit_vectors(3, 7, 1)), c10::ValueError);
}

TEST_P(ScalarIndexes, MayBeEmpty) {
  const auto index = make_index(GetParam(), unit_vectors(9, 4, 1));
  index->save(path_);
  const auto read = load_vector_index(path_);
  EXPECT_EQ(read->count(), 0);
  EXPECT_EQ(read->search(unit_vectors(2, 4, 1), 3).indices.size(1), 0);
}

TEST_P(ScalarIndexes, DamageIsAnErrorOrAnotherIndex) {
  const Tensor x = unit_vectors(5, 3, 1);
  const auto made = make_index(GetParam(), x);
  made->add(x);
  made->save(path_);
  const std::string whole = read_file(path_, 1000);
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    const std::string path = folder_.write("y", damage(whole, random));
    try {
      const ScalarFile file(path);
      EXPECT_LE(file.byte_size(), 300);
      const auto index = load_vector_index(path);
      index->search(unit_vectors(2, index->dim(), 2), 3);
    } catch (const DataError&) {
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, ScalarIndexes,
                         ::testing::Values("float16", "int8"));

TEST(ScalarIndexTest, NeedsItsRangesFirst) {
  Int8Index index({}, {4, 0, 0});
  EXPECT_EQ(index.training_rows(), 65536);
  EXPECT_THROW(index.add(unit_vectors(2, 4, 1)), c10::ValueError);
  EXPECT_THROW(index.train(torch::empty({0, 4})), c10::ValueError);
}

/// Numbers beyond the range of those before go to its ends.
TEST(ScalarIndexTest, LaterVectorsAreKeptWithinTheRange) {
  const Tensor x = torch::tensor({{0.6F, 0.8F}, {0.8F, 0.6F}});
  Int8Index index({}, {2, 0, 2});
  index.train(x);
  index.add(torch::tensor({{1.0F, 0.0F}}));
  const Tensor kept = index.rows().read(0, 1)[0];
  EXPECT_NEAR(kept[0].item<float>(), 0.8, 0.001);
  EXPECT_NEAR(kept[1].item<float>(), 0.6, 0.001);
}

/// The header in the format's own terms, not by the writer.
struct ScalarHeader {
  std::string mark = "IxSQ";
  int32_t dim = 2;
  int64_t count = 3;
  uint8_t trained = 1;
  int32_t metric = 0;
  int32_t type = 0;
  uint64_t code_dim = 2;
  uint64_t code_bytes = 2;
  std::vector<float> ranges = {-1, -1, 2, 2};
  uint64_t bytes = 6;

  std::string text(const std::string& codes) const {
    std::string all = mark;
    const auto put = [&](const auto& value) {
      all.append(reinterpret_cast<const char*>(&value), sizeof(value));
    };
    put(dim);
    put(count);
    put(int64_t{1} << 20);
    put(int64_t{1} << 20);
    put(trained);
    put(metric);
    put(type);
    put(int32_t{0});
    put(0.0F);
    put(code_dim);
    put(code_bytes);
    put(uint64_t{ranges.size()});
    for (const float number : ranges) put(number);
    put(bytes);
    return all + codes;
  }
};

class ScalarFiles : public ::testing::Test {
 protected:
  template <class... Parts>
  void expect_refused(const ScalarHeader& header, const std::string& codes,
                      const Parts&... parts) {
    const std::string path = folder_.write("bad.faiss", header.text(codes));
    expect_error<DataError>([&] { ScalarFile{path}; }, path, parts...);
  }

  TempDir folder_;
};

TEST_F(ScalarFiles, AreOfFaiss) {
  const Tensor x = torch::tensor({{-1.0F, 1.0F}, {1.0F, -1.0F}, {0.0F, 0.0F}});
  const std::string path = folder_.file("x");
  write_scalar_file(path, ScalarCode::int8_of(x), x);
  EXPECT_EQ(read_file(path, 1000),
            ScalarHeader().text(std::string("\x00\xff\xff\x00\x7f\x7f", 6)));
  write_scalar_file(path, ScalarCode::float16(2), x);
  ScalarHeader half;
  half.type = 4;
  half.code_bytes = 4;
  half.ranges = {};
  half.bytes = 12;
  EXPECT_EQ(
      read_file(path, 1000),
      half.text(std::string("\x00\xbc\x00\x3c\x00\x3c\x00\xbc\0\0\0\0", 12)));
}

TEST_F(ScalarFiles, RefuseWhatTheyCannotSearch) {
  const std::string codes(6, '\1');
  EXPECT_EQ(
      ScalarFile(folder_.write("good", ScalarHeader().text(codes))).count(), 3);
  ScalarHeader header;
  header.metric = 1;
  expect_refused(header, codes, "metric 1");
  header = {};
  header.type = 6;
  expect_refused(header, codes, "type 6");
  header = {};
  header.trained = 0;
  expect_refused(header, codes, "damaged");
  header = {};
  header.ranges[1] = NAN;
  expect_refused(header, codes, "range");
  header = {};
  header.ranges[3] = -1;
  expect_refused(header, codes, "range");
  const std::string path = folder_.write("short", "IxSQ");
  expect_error<DataError>([&] { ScalarFile{path}; }, path, "truncated");
}

TEST_F(ScalarFiles, BelieveNoSizeThatTheFileDoesNotHave) {
  const std::string codes(6, '\1');
  ScalarHeader header;
  expect_refused(header, codes.substr(1), "truncated or damaged");
  expect_refused(header, codes + "1", "truncated or damaged");
  header.count = int64_t{1} << 62;
  expect_refused(header, codes, "truncated or damaged");
  header = {};
  header.bytes = uint64_t{1} << 63;
  expect_refused(header, codes, "truncated or damaged");
  header = {};
  header.dim = 1 << 30;
  expect_refused(header, codes, "damaged header");
  header = {};
  header.dim = -2;
  expect_refused(header, codes, "damaged header");
  header = {};
  header.code_bytes = 0;
  expect_refused(header, codes, "damaged header");
  header = {};
  header.ranges.clear();
  expect_refused(header, codes, "damaged header");
}

TEST_F(ScalarFiles, NameAVectorThatIsNotFinite) {
  ScalarHeader half;
  half.type = 4;
  half.code_bytes = 4;
  half.ranges = {};
  half.bytes = 12;
  const ScalarFile file(folder_.write(
      "nan", half.text(std::string("\0\0\0\0\0\0\x00\x7e\0\0\0\0", 12))));
  EXPECT_EQ(file.read(0, 1).size(0), 1);
  expect_error<DataError>([&] { file.read(0, 3); }, file.path(), "row 1");
}

}  // namespace
}  // namespace kith
