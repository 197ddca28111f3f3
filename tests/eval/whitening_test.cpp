#include "kith/eval/whitening.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/ops/pairwise.h"
#include "tests/support/damage.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr int64_t kWhitenDim = 7;
constexpr uint64_t kMost = 1 << 20;  // bytes of a file

/// Directions of unlike spread, mixed, away from the origin; unit rows.
Tensor descriptors(int64_t count, at::ScalarType type = at::kDouble) {
  const Tensor spread =
      torch::arange(1, kWhitenDim + 1, torch::kDouble).reciprocal();
  const Tensor mixed = (random_normal({count, kWhitenDim}, 1) * spread)
                           .mm(random_normal({kWhitenDim, kWhitenDim}, 2));
  return normalize_rows(mixed + 0.8).to(type);
}

Tensor covariance(const Tensor& x) {
  const Tensor centred = x - x.mean(0);
  return centred.t().mm(centred) / static_cast<double>(x.size(0));
}

/// Eigenvalues, falling, by Jacobi rotations: independent of LAPACK.
std::vector<double> eigenvalues(const Tensor& symmetric) {
  Tensor a = symmetric.clone();
  const int64_t n = a.size(0);
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const double angle =
            0.5 * std::atan2(2 * a[p][q].item<double>(),
                             a[q][q].item<double>() - a[p][p].item<double>());
        Tensor turn = torch::eye(n, torch::kDouble);
        turn[p][p] = turn[q][q] = std::cos(angle);
        turn[p][q] = std::sin(angle);
        turn[q][p] = -std::sin(angle);
        a = turn.t().mm(a).mm(turn);
      }
    }
    if ((a - a.diag().diag()).abs().max().item<double>() < 1e-16) break;
  }
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(a[i][i].item<double>());
  std::sort(values.rbegin(), values.rend());
  return values;
}

TEST(Whitening, MakesTheCovarianceTheIdentity) {
  // More rows than are summed up at a time.
  const Tensor x = descriptors(5000);
  const Whitening whitening = Whitening::learn(x);
  EXPECT_EQ(whitening.input_dim(), kWhitenDim);
  EXPECT_EQ(whitening.dim(), kWhitenDim);
  EXPECT_LE(max_difference(whitening.mean(), x.mean(0)), 1e-14);
  const Tensor white = (x - whitening.mean()).mm(whitening.projection().t());
  EXPECT_LE(
      max_difference(covariance(white), torch::eye(kWhitenDim, torch::kDouble)),
      1e-10);
  EXPECT_LE(max_difference(white.mean(0), torch::zeros({kWhitenDim})), 1e-10);
  EXPECT_LE(max_difference(whitening.apply(x), normalize_rows(white)), 1e-14);
}

// |row i| = 1 / sqrt(lambda_i), C row_i = lambda_i row_i, lambda falling.
TEST(Whitening, RowsAreTheDirectionsByFallingSpread) {
  const Tensor x = descriptors(200);
  const Tensor projection = Whitening::learn(x).projection();
  const std::vector<double> values = eigenvalues(covariance(x));
  for (int64_t i = 0; i < kWhitenDim; ++i) {
    const double value = values[static_cast<size_t>(i)];
    const Tensor row = projection[i];
    EXPECT_NEAR(row.norm().item<double>() * std::sqrt(value), 1, 1e-9);
    EXPECT_LE(max_difference(covariance(x).mv(row), value * row), 1e-10);
    EXPECT_GT(row[row.abs().argmax().item<int64_t>()].item<double>(), 0);
  }
}

TEST(Whitening, FewerDimensionsAreTheFirstRows) {
  const Tensor x = descriptors(200, at::kFloat);
  const Whitening all = Whitening::learn(x);
  const Whitening three = Whitening::learn(x, 3);
  EXPECT_EQ(three.dim(), 3);
  EXPECT_TRUE(
      torch::equal(three.projection(), all.projection().slice(0, 0, 3)));
  const Tensor white = three.apply(x);
  EXPECT_EQ(white.scalar_type(), at::kFloat);
  EXPECT_EQ(white.sizes(), (std::vector<int64_t>{200, 3}));
  EXPECT_LE(max_difference(white.norm(2, 1), torch::ones({200})), 1e-6);
  EXPECT_LE(max_difference(white, three.apply(x.to(at::kDouble))), 1e-4);
  EXPECT_THROW(all.apply(white), c10::ValueError);
}

TEST(Whitening, SaysHowManyDirectionsThereAre) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    const Tensor few = descriptors(5, type);
    expect_error<DataError>([&] { Whitening::learn(few); }, "7 dimensions",
                            "5 descriptors", "4 directions", "at most 4");
    EXPECT_EQ(Whitening::learn(few, 4).dim(), 4);
    // Many rows, but two columns repeat others up to rounding.
    const Tensor part = descriptors(300, type).slice(1, 0, 5);
    const Tensor flat =
        torch::cat({part, part.slice(1, 0, 1) * 0.3, part.slice(1, 1, 2)}, 1);
    expect_error<DataError>([&] { Whitening::learn(flat); }, "5 directions");
  }
  const Tensor same = torch::ones({4, kWhitenDim});
  expect_error<DataError>([&] { Whitening::learn(same, 1); }, "0 directions");
  expect_error<DataError>([] { Whitening::learn(descriptors(50), 8); },
                          "8 dimensions", "7 directions");
  Tensor bad = descriptors(50);
  bad[3][2] = std::nan("");
  expect_error<DataError>([&] { Whitening::learn(bad); }, "NaN");
  EXPECT_THROW(Whitening::learn(bad[0]), c10::ValueError);
}

TEST(Whitening, IsSavedAndLoadedAsItIs) {
  const TempDir dir;
  const Whitening made = Whitening::learn(descriptors(100), 4);
  made.save(dir.file("a.safetensors"));
  const Whitening loaded =
      Whitening::load(dir.file("a.safetensors"), kWhitenDim);
  EXPECT_TRUE(same_bits(loaded.mean(), made.mean()));
  EXPECT_TRUE(same_bits(loaded.projection(), made.projection()));
  loaded.save(dir.file("b.safetensors"));
  EXPECT_EQ(read_file(dir.file("a.safetensors"), kMost),
            read_file(dir.file("b.safetensors"), kMost));
}

class WhiteningFile : public ::testing::Test {
 protected:
  void expect_refused(const NamedTensors& tensors, const std::string& part) {
    std::vector<std::pair<std::string, ArrayView>> views;
    for (const auto& [name, tensor] : tensors) {
      views.emplace_back(name, view_of(tensor));
    }
    const std::string path = dir_.file("w.safetensors");
    write_safetensors(path, views);
    expect_error<DataError>([&] { Whitening::load(path, kWhitenDim); }, path,
                            part);
  }

  TempDir dir_;
  Tensor mean_ = torch::zeros({kWhitenDim});
  Tensor projection_ = torch::eye(kWhitenDim);
};

TEST_F(WhiteningFile, IsCheckedAgainstTheModel) {
  const std::string path = dir_.file("w.safetensors");
  Whitening::learn(descriptors(100), 4).save(path);
  expect_error<DataError>([&] { Whitening::load(path, 128); }, path,
                          "of 7 numbers", "have 128");
}

TEST_F(WhiteningFile, OfAnotherKindIsRefused) {
  expect_refused({{"mean", mean_}}, "no tensor 'projection'");
  expect_refused({{"weight", mean_}}, "no tensor 'mean'");
  expect_refused({{"mean", mean_}, {"projection", mean_}}, "[dim, D]");
  expect_refused({{"mean", projection_}, {"projection", projection_}}, "[D]");
  expect_refused({{"mean", torch::zeros({kWhitenDim}, torch::kLong)},
                  {"projection", projection_}},
                 "float32");
  expect_refused({{"mean", torch::zeros({3})}, {"projection", projection_}},
                 "'mean' [3]");
  expect_refused(
      {{"mean", mean_}, {"projection", torch::zeros({0, kWhitenDim})}},
      "dim from 1");
  expect_refused(
      {{"mean", mean_}, {"projection", torch::zeros({9, kWhitenDim})}},
      "[9, 7]");
  expect_refused({{"mean", mean_ / 0}, {"projection", projection_}}, "NaN");
}

TEST_F(WhiteningFile, DamagedIsRefusedOrRead) {
  const std::string path = dir_.file("w.safetensors");
  Whitening::learn(descriptors(100), 4).save(path);
  const std::string bytes = read_file(path, kMost);
  std::mt19937_64 random(5);
  for (int i = 0; i < 50; ++i) {
    dir_.write("d.safetensors", damage(bytes, random));
    try {
      Whitening::load(dir_.file("d.safetensors"), kWhitenDim);
    } catch (const DataError&) {
    }
  }
}

}  // namespace
}  // namespace kith
