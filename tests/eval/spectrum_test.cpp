#include "kith/eval/spectrum.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/eval/metric.h"
#include "kith/ops/pairwise.h"
#include "tests/eval/sets.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

double rho(const ScoredSet& set, const std::string& name = "rho") {
  const std::vector<NamedMetric> metrics = parse_metrics({name});
  return dynamic_cast<const SetMetric&>(*metrics.at(0).metric)
      .values(set)
      .at(0);
}

/// Normalised singular values by LibTorch, in double.
std::vector<double> reference(const Tensor& rows) {
  const Tensor s = torch::linalg_svdvals(rows.to(torch::kDouble));
  const Tensor normalised = (s / s.sum()).contiguous();
  const double* data = normalised.data_ptr<double>();
  return {data, data + normalised.numel()};
}

void expect_near(const std::vector<double>& values,
                 const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], tolerance) << i;
  }
}

Tensor unit(int64_t n, int64_t dim, uint64_t seed) {
  return normalize_rows(random_normal({n, dim}, seed, torch::kFloat));
}

TEST(Spectrum, IsThatOfASingularValueDecomposition) {
  const Tensor rows = unit(90, 12, 1);
  expect_near(spectrum(set_of(rows)), reference(rows), 1e-12);
}

TEST(Spectrum, HasAsManyValuesAsThereCanBe) {
  const Tensor rows = unit(5, 12, 2);
  expect_near(spectrum(set_of(rows)), reference(rows), 1e-12);
}

TEST(Spectrum, OfRankOneIsOneValue) {
  const Tensor rows = unit(1, 6, 3).repeat({40, 1});
  const std::vector<double> values = spectrum(set_of(rows));
  EXPECT_EQ(values, (std::vector<double>{1, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(std::isinf(rho(set_of(rows))));
}

TEST(Spectrum, IsTheSameInSmallBlocks) {
  const Tensor rows = unit(300, 512, 4);  // 1 MB holds 128 rows.
  expect_near(spectrum(set_of(rows, {}, 1)), spectrum(set_of(rows)), 1e-12);
}

TEST(Rho, OfOrthonormalRowsIsZero) {
  EXPECT_NEAR(rho(set_of(torch::eye(16).repeat({3, 1}))), 0, 1e-12);
}

TEST(Rho, IsTheDivergenceAndDropsTheLargest) {
  EXPECT_NEAR(
      spectral_decay({0.5, 0.3, 0.2}, 0),
      -std::log(3) - (std::log(0.5) + std::log(0.3) + std::log(0.2)) / 3,
      1e-14);
  EXPECT_NEAR(spectral_decay({0.5, 0.3, 0.2}, 1),
              -std::log(2) - (std::log(0.6) + std::log(0.4)) / 2, 1e-14);
  EXPECT_EQ(spectral_decay({0.5, 0.3, 0.2}, 2), 0);
  const ScoredSet set = set_of(unit(50, 6, 5));
  EXPECT_EQ(rho(set, "rho@1"), rho(set));
  EXPECT_EQ(rho(set, "rho_2"), rho(set, "rho@2"));
  EXPECT_LT(rho(set, "rho@2"), rho(set));
}

TEST(Rho, RefusesFewItemsAndDroppingAll) {
  expect_error<DataError>([] { rho(set_of(unit(5, 6, 6))); },
                          "at least as many items as dimensions",
                          "5 items of dimension 6");
  expect_error<DataError>([] { rho(set_of(unit(9, 6, 6)), "rho@7"); },
                          "rho@1 to rho@6");
}

TEST(RhoOccupied, IsRhoWhereNoDirectionIsEmpty) {
  const ScoredSet set = set_of(unit(50, 6, 5));
  EXPECT_EQ(rho(set, "rho_occupied"), rho(set));
  EXPECT_EQ(rho(set, "rho_occupied@2"), rho(set, "rho@2"));
  EXPECT_EQ(rho(set, "occupied"), 6);
}

// As HIST's embeddings: a LayerNorm without scale and shift, then unit vectors,
// in float32. Their numbers sum to zero but for rounding.
TEST(RhoOccupied, LeavesOutTheDirectionThatLayerNormEmpties) {
  const Tensor rows = normalize_rows(torch::layer_norm(
      random_normal({400, 32}, 8, torch::kFloat) + 0.3, {32}));
  const ScoredSet set = set_of(rows);
  EXPECT_EQ(rho(set, "occupied"), 31);
  // Without that direction: the same rows turned so that it is the last one.
  const Tensor turn = std::get<0>(torch::linalg_qr(torch::cat(
      {torch::ones({32, 1}, torch::kDouble), random_normal({32, 31}, 9)}, 1)));
  const Tensor inside =
      rows.to(torch::kDouble).mm(turn).slice(1, 1).to(torch::kDouble);
  const std::vector<double> s = reference(inside);
  double expected = -std::log(31.0);
  for (const double value : s) expected -= std::log(value) / 31;
  EXPECT_NEAR(rho(set, "rho_occupied"), expected, 1e-5);
  EXPECT_GT(rho(set), rho(set, "rho_occupied") + 0.3);
}

TEST(RhoOccupied, OfACollapsedNetworkIsZeroInOneDirection) {
  const ScoredSet set = set_of(unit(1, 6, 3).repeat({40, 1}));
  EXPECT_EQ(rho(set, "occupied"), 1);
  EXPECT_EQ(rho(set, "rho_occupied"), 0);
  expect_error<DataError>([&] { rho(set, "rho_occupied@2"); },
                          "rho_occupied@1 to rho_occupied@1");
  expect_error<DataError>([] { rho(set_of(unit(5, 6, 6)), "rho_occupied"); },
                          "metric 'rho_occupied'", "5 items of dimension 6");
}

TEST(ClassSpectrum, IsTheMeanOverClassesOfTwoOrMore) {
  const Tensor rows = unit(12, 4, 7);
  const Tensor labels = labels_of({8, 1, 8, 8, 1, 8, 8, 1, 8, 5, 9, 9});
  std::vector<double> expected(4);
  for (const int64_t label : {1, 8, 9}) {
    const std::vector<double> own = reference(rows.index({labels == label}));
    for (size_t i = 0; i < own.size(); ++i) expected[i] += own[i] / 3;
  }
  expect_near(class_spectrum(set_of(rows, labels), 35), expected, 1e-12);
  expected.resize(2);
  expect_near(class_spectrum(set_of(rows, labels), 2), expected, 1e-12);
}

TEST(ClassSpectrum, IsEmptyWithoutSuchAClass) {
  EXPECT_TRUE(
      class_spectrum(set_of(unit(3, 4, 8), labels_of({1, 2, 3})), 35).empty());
}

TEST(ClassSpectrum, IsTheSameInSmallBlocks) {
  const Tensor rows = unit(400, 512, 9);
  const Tensor labels = torch::arange(400, torch::kLong).remainder(40);
  const std::vector<double> values = class_spectrum(set_of(rows, labels), 35);
  EXPECT_EQ(values.size(), 10u);
  EXPECT_EQ(class_spectrum(set_of(rows, labels, 1), 35), values);
}

}  // namespace
}  // namespace kith
