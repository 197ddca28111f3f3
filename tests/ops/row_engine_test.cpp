// The engine itself: databases, targets, normalisation, limits and threads.
// tests/losses has the losses on a batch that is its own database.

#include "kith/ops/row_engine.h"

#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/rows/circle.h"
#include "kith/losses/rows/contrastive.h"
#include "kith/losses/rows/lifted.h"
#include "kith/losses/rows/multi_similarity.h"
#include "kith/losses/rows/nt_xent.h"
#include "kith/losses/rows/quantised_ap.h"
#include "kith/losses/rows/recall_at_k.h"
#include "kith/losses/rows/smooth_ap.h"
#include "kith/losses/rows/supcon.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/batches.h"
#include "tests/support/torch/expect_gradient.h"
#include "tests/support/torch/reference_losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

struct NamedLoss {
  std::string name;
  RowLoss loss;
};

void PrintTo(const NamedLoss& named, std::ostream* out) { *out << named.name; }

template <class Params>
RowLoss lasting(const Params& params, bool euclidean = false) {
  static std::vector<std::unique_ptr<Params>> kept;
  kept.push_back(std::make_unique<Params>(params));
  RowLoss loss = make_row_loss(*kept.back());
  loss.euclidean = euclidean;
  return loss;
}

RowLoss recall_at_k() {
  RecallAtKParams params;
  params.k_count = 0;
  for (const double k : {1, 2, 4, 8, 16}) params.k[params.k_count++] = k;
  return lasting(params);
}

/// Losses whose rows are independent of the other rows' columns, with their
/// default parameters.
std::vector<NamedLoss> losses() {
  return {{"recall_at_k", recall_at_k()},
          {"smooth_ap", lasting(SmoothApParams())},
          {"fast_ap", lasting(QuantisedApParams{11})},
          {"ap_quantised", lasting(QuantisedApParams{20})},
          {"supcon", lasting(SupconParams())},
          {"nt_xent", lasting(NtXentParams())},
          {"multi_similarity", lasting(MultiSimilarityParams())},
          {"contrastive", lasting(ContrastiveParams(), true)},
          {"circle", lasting(CircleParams())},
          {"lifted", lasting(LiftedParams(), true)}};
}

/// Rows and columns that are not the same; some rows are also columns, some
/// have no class among the columns, and some classes have no row.
RowInput random_database() {
  const LabelledBatch rows = make_batch({5, 1, 3, 2}, 6, 1);
  const LabelledBatch columns = make_batch({4, 6, 2, 3}, 6, 2);
  RowInput input;
  input.rows = rows.x;
  input.row_labels = rows.labels;
  input.columns = torch::cat({columns.x, rows.x.slice(0, 0, 6)});
  input.column_labels =
      torch::cat({columns.labels, rows.labels.slice(0, 0, 6)});
  input.self = torch::full({rows.size()}, -1, torch::kLong);
  input.self.slice(0, 0, 6) = torch::arange(6) + columns.size();
  return input;
}

Similarities similarities(const RowInput& input, bool euclidean) {
  const Tensor& x = input.rows;
  const Tensor& y = input.columns;
  const Tensor s =
      euclidean ? 1 - (x.unsqueeze(1) - y.unsqueeze(0)).square().sum(2) / 2
                : torch::mm(x, y.t());
  return {s, input.row_labels, input.column_labels, input.self};
}

void expect_close(const Tensor& actual, const Tensor& expected, double digits) {
  const double most = expected.abs().max().item<double>();
  EXPECT_LE(max_difference(actual, expected), digits * std::max(most, 1e-3));
}

class EachRowLoss : public ::testing::TestWithParam<NamedLoss> {
 protected:
  const RowLoss& loss() const { return GetParam().loss; }
};

/// Runs on `device` and compares with the formula.
void expect_formula(const NamedLoss& named, const at::Device& device) {
  RowInput input = random_database();
  input.rows.requires_grad_();
  input.columns.requires_grad_();
  const Tensor expected =
      reference_loss(named.name, similarities(input, named.loss.euclidean));
  expected.backward();
  RowInput there = input;
  for (Tensor* tensor : {&there.rows, &there.row_labels, &there.columns,
                         &there.column_labels, &there.self}) {
    *tensor = tensor->detach().to(device);
  }
  for (const int64_t edge : {0, 1, 4}) {
    SCOPED_TRACE(edge);
    const RowOutput output = run_rows(
        named.loss, there, RowLimits{512, RowProducts::kFloat32, edge}, true);
    EXPECT_NEAR(output.value.item<double>(), expected.item<double>(),
                1e-12 * std::max(1.0, expected.item<double>()));
    expect_close(output.row_gradient, input.rows.grad(), 1e-11);
    expect_close(output.column_gradient, input.columns.grad(), 1e-11);
  }
}

TEST_P(EachRowLoss, ComparesWithADatabase) {
  expect_formula(GetParam(), at::kCPU);
}

TEST_P(EachRowLoss, ComparesWithADatabaseOnCuda) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  expect_formula(GetParam(), at::kCUDA);
}

TEST_P(EachRowLoss, ADatabaseOfTheBatchIsTheBatch) {
  const LabelledBatch batch = make_batch({5, 1, 8, 3, 2, 1}, 6, 3);
  const Tensor order = random_permutation(batch.size(), 4);
  RowInput alone;
  alone.rows = batch.x;
  alone.row_labels = batch.labels;
  RowInput both = alone;
  both.columns = batch.x.index_select(0, order);
  both.column_labels = batch.labels.index_select(0, order);
  both.self = order.argsort();
  const RowOutput expected = run_rows(loss(), alone, RowLimits(), true);
  const RowOutput actual = run_rows(loss(), both, RowLimits(), true);
  EXPECT_FALSE(expected.column_gradient.defined());
  EXPECT_NEAR(actual.value.item<double>(), expected.value.item<double>(),
              1e-12 * std::max(1.0, expected.value.item<double>()));
  expect_close(
      actual.row_gradient + actual.column_gradient.index_select(0, both.self),
      expected.row_gradient, 1e-12);
  EXPECT_EQ(actual.rows, expected.rows);
  EXPECT_EQ(actual.without_positives, expected.without_positives);
}

/// The same as normalize_rows() before the loss.
void expect_normalises(const RowLoss& loss, const RowInput& vectors) {
  RowInput raw = vectors;
  raw.rows.requires_grad_();
  raw.columns.requires_grad_();
  RowInput unit = raw;
  unit.rows = normalize_rows(raw.rows);
  unit.columns = normalize_rows(raw.columns);
  const Tensor expected = differentiable_rows(loss, unit, RowLimits()).value;
  expected.backward();
  raw.normalize = true;
  const RowOutput actual = run_rows(loss, raw, RowLimits(), true);
  EXPECT_NEAR(actual.value.item<double>(), expected.item<double>(),
              1e-12 * std::max(1.0, expected.item<double>()));
  expect_close(actual.row_gradient, raw.rows.grad(), 1e-11);
  expect_close(actual.column_gradient, raw.columns.grad(), 1e-11);
}

TEST_P(EachRowLoss, CanNormalise) {
  RowInput input = random_database();
  input.rows = input.rows * random_normal({input.rows.size(0), 1}, 5).exp();
  input.columns = input.columns * 3;
  expect_normalises(loss(), input);
}

TEST_P(EachRowLoss, TakesEmptySides) {
  const RowInput full = random_database();
  RowInput no_rows = full;
  no_rows.rows = full.rows.slice(0, 0, 0);
  no_rows.row_labels = full.row_labels.slice(0, 0, 0);
  no_rows.self = full.self.slice(0, 0, 0);
  RowInput no_columns = full;
  no_columns.columns = full.columns.slice(0, 0, 0);
  no_columns.column_labels = full.column_labels.slice(0, 0, 0);
  no_columns.self = torch::full_like(full.self, -1);
  RowInput no_places = no_columns;
  no_places.self = Tensor();
  for (const RowInput& input : {no_rows, no_columns, no_places}) {
    const RowOutput output = run_rows(loss(), input, RowLimits(), true);
    // log(1 + e^x) of a lowest x is not quite zero.
    EXPECT_LT(output.value.item<double>(), 1e-300);
    EXPECT_EQ(output.rows, input.rows.size(0));
    EXPECT_EQ(output.without_positives, input.rows.size(0));
    EXPECT_EQ(
        max_difference(output.row_gradient, torch::zeros_like(input.rows)), 0);
    EXPECT_EQ(max_difference(output.column_gradient,
                             torch::zeros_like(input.columns)),
              0);
  }
}

TEST_P(EachRowLoss, WhatIsNotANumberStaysVisible) {
  for (const bool in_rows : {false, true}) {
    RowInput input = random_database();
    (in_rows ? input.rows : input.columns)[3][1] = std::nan("");
    const RowOutput output = run_rows(loss(), input, RowLimits(), true);
    EXPECT_TRUE(std::isnan(output.value.item<double>())) << in_rows;
  }
}

class RestoreThreads {
 public:
  RestoreThreads() : before_(torch::get_num_threads()) {}
  ~RestoreThreads() { torch::set_num_threads(before_); }
  RestoreThreads(const RestoreThreads&) = delete;
  RestoreThreads& operator=(const RestoreThreads&) = delete;

 private:
  int before_;
};

/// Rows are computed by one thread each, in one order. Products of integers are
/// exact in any order.
TEST_P(EachRowLoss, ThreadsDoNotChangeTheResult) {
  const RestoreThreads restore;
  RowInput input;
  input.rows = random_integers({203, 5}, 1, 6);
  input.row_labels = torch::arange(203).remainder(29);
  torch::set_num_threads(1);
  const RowOutput one = run_rows(loss(), input, RowLimits(), true);
  for (const int threads : {2, 3}) {
    torch::set_num_threads(threads);
    const RowOutput more = run_rows(loss(), input, RowLimits(), true);
    EXPECT_TRUE(same_bits(more.value, one.value)) << threads;
    EXPECT_TRUE(same_bits(more.row_gradient, one.row_gradient)) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, EachRowLoss, ::testing::ValuesIn(losses()),
                         [](const auto& param_info) {
                           return param_info.param.name;
                         });

/// nt_xent of one positive a row.
TEST(RowEngine, TargetIsTheOnePositive) {
  const LabelledBatch batch = make_batch({4, 2, 3}, 5, 1);
  RowInput input;
  input.rows = batch.x.clone().requires_grad_();
  input.row_labels = batch.labels;
  input.columns = batch.x.clone().requires_grad_();
  input.column_labels = batch.labels;
  input.self = torch::arange(batch.size());
  // The last other example of each class.
  const Tensor same = positive_mask(batch.labels);
  input.target = (same * torch::arange(1, batch.size() + 1)).argmax(1);
  const NtXentParams params{0.5};
  const RowOutput output =
      run_rows(make_row_loss(params), input, RowLimits(), true);

  const Tensor s = torch::mm(input.rows, input.columns.t()) / 0.5;
  const Tensor positive = s.gather(1, input.target.unsqueeze(1));
  const Tensor terms = (s - positive)
                           .exp()
                           .masked_fill(same, 0)
                           .masked_fill(torch::eye(batch.size()) == 1, 0)
                           .sum(1)
                           .log1p();
  terms.mean().backward();
  EXPECT_NEAR(output.value.item<double>(), terms.mean().item<double>(), 1e-12);
  expect_close(output.row_gradient, input.rows.grad(), 1e-11);
  expect_close(output.column_gradient, input.columns.grad(), 1e-11);
}

TEST(RowEngine, NormalisesRowsOfZeros) {
  RowInput input = random_database();
  input.rows[1] = 0;
  input.columns[2] = 0;
  expect_normalises(recall_at_k(), input);
}

TEST(RowEngine, GradientsOfTheSideThatNeedsOne) {
  const RowLoss loss = recall_at_k();
  RowInput input = random_database();
  const RowOutput both = run_rows(loss, input, RowLimits(), true);
  input.columns.requires_grad_();
  const RowOutput output = differentiable_rows(loss, input, RowLimits());
  ASSERT_TRUE(output.value.requires_grad());
  output.value.backward();
  expect_close(input.columns.grad(), both.column_gradient, 1e-14);
  EXPECT_FALSE(input.rows.grad().defined());
}

TEST(RowEngine, ComputesNoGradientThatNobodyNeeds) {
  const RowLoss loss = recall_at_k();
  RowInput input = random_database();
  const Tensor value = run_rows(loss, input, RowLimits(), true).value;
  const RowOutput plain = differentiable_rows(loss, input, RowLimits());
  EXPECT_FALSE(plain.row_gradient.defined());
  EXPECT_FALSE(plain.column_gradient.defined());
  EXPECT_TRUE(torch::equal(plain.value, value));
  input.rows.requires_grad_();
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(
      differentiable_rows(loss, input, RowLimits()).row_gradient.defined());
}

/// Ranks are sums over all columns: single precision must hold for a million.
/// A product of D float32 terms, in any order and without fused additions, and
/// its use are off by D + 4 units of rounding, which 1 / t2 scales in a sigmoid
/// and once more in its slope.
TEST(RowEngine, RanksAmongAMillionColumns) {
  constexpr int64_t kRows = 8;
  constexpr int64_t kColumns = 1 << 20;
  constexpr double kBound = 2 * (8 + 4) * 0x1p-24 / 0.01;
  RowInput input;
  input.rows = normalize_rows(random_normal({kRows, 8}, 1));
  input.columns = normalize_rows(random_normal({kColumns, 8}, 2));
  // A positive close to each query; all other columns are negatives.
  input.columns.narrow(0, 0, kRows) =
      normalize_rows(input.rows + 0.02 * random_normal({kRows, 8}, 3));
  input.row_labels = torch::arange(kRows);
  input.column_labels = torch::arange(kColumns);
  for (const RowLoss& loss : {recall_at_k(), lasting(SmoothApParams())}) {
    const RowOutput wide = run_rows(loss, input, {}, true);
    RowInput narrow = input;
    narrow.rows = input.rows.to(torch::kFloat);
    narrow.columns = input.columns.to(torch::kFloat);
    const RowOutput single = run_rows(loss, narrow, {}, true);
    EXPECT_NEAR(single.value.item<double>(), wide.value.item<double>(), 2e-5);
    EXPECT_LE(max_difference(single.row_gradient, wide.row_gradient),
              kBound * wide.row_gradient.abs().max().item<double>());
  }
}

TEST(RowEngine, SaysWhatToDoAboutClassesThatAreTooLarge) {
  RowInput input;
  input.rows = normalize_rows(random_normal({400, 4}, 1, at::kFloat));
  input.row_labels = torch::zeros({400}, torch::kLong);
  RowLimits limits;
  limits.memory_mb = 1;
  expect_error<c10::ValueError>(
      [&] { run_rows(recall_at_k(), input, limits, true); },
      "160000 pairs within classes", "4 MB", "memory_mb is 1",
      "fewer examples of a class", "larger memory_mb");
  limits.memory_mb = 4;
  run_rows(recall_at_k(), input, limits, true);
}

TEST(RowEngine, RefusesWhatItCannotDo) {
  RowInput half;
  half.rows = torch::ones({3, 2}, torch::kHalf);
  half.row_labels = labels_of({1, 1, 2});
  expect_error<c10::ValueError>(
      [&] { run_rows(recall_at_k(), half, RowLimits(), true); },
      "float32 or float64", "Half");
  RowInput mixed = random_database();
  mixed.mixed = {labels_of({0, 1}).view({1, 2}), torch::ones({1})};
  expect_error<c10::ValueError>(
      [&] { run_rows(recall_at_k(), mixed, RowLimits(), true); }, "SiMix",
      "own database");
}

}  // namespace
}  // namespace kith
