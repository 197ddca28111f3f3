// The pieces of HIST: distances to distributions, hypergraph, network.

#include "kith/ops/hypergraph.h"

#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/support/torch/golden.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// As the formula is written, with differences [M, C, D].
Tensor plain_distances(const Tensor& x, const Tensor& means,
                       const Tensor& log_vars) {
  const Tensor difference =
      normalize_rows(x).unsqueeze(1) - normalize_rows(means);
  return (difference.square() / log_vars.clamp(0, 6).exp()).sum(2);
}

/// G as the formula is written.
Tensor plain_matrix(const Tensor& h) {
  const Tensor dv = torch::diag(h.sum(1).pow(-0.5));
  const Tensor de = torch::diag(h.sum(0).pow(-1));
  return dv.mm(h).mm(de).mm(h.t()).mm(dv);
}

TEST(ClassDistances, AreThoseOfTheFormula) {
  const Tensor x = random_normal({7, 5}, 1);
  const Tensor means = random_normal({4, 5}, 2);
  const Tensor log_vars = random_normal({4, 5}, 3) * 5;  // some below 0 and
                                                         // some above 6
  EXPECT_LE(max_difference(class_distances(x, means, log_vars),
                           plain_distances(x, means, log_vars)),
            1e-14);
  EXPECT_LE(max_difference(class_distances(x, means, {}),
                           plain_distances(x, means, torch::zeros_like(means))),
            1e-14);
}

// Scaled by tau, an error of 1e-6 would be one of 3e-5 in a logit.
TEST(ClassDistances, KeepTheirDigitsInSinglePrecision) {
  const Tensor means = random_normal({20, 512}, 2);
  // Next to the means, where the products cancel the most.
  const Tensor x = means + 1e-3 * random_normal({20, 512}, 1);
  const Tensor log_vars = random_normal({20, 512}, 3) * 0.1;
  EXPECT_LE(
      max_difference(class_distances(x.to(at::kFloat), means.to(at::kFloat),
                                     log_vars.to(at::kFloat)),
                     plain_distances(x, means, log_vars)),
      1e-6);
}

TEST(ClassDistances, OfZeroVectorsHaveAGradient) {
  const Tensor x = torch::zeros({2, 3}, torch::requires_grad());
  const Tensor means = torch::zeros({4, 3}, torch::requires_grad());
  const Tensor log_vars = torch::zeros({4, 3}, torch::requires_grad());
  const Tensor distances = class_distances(x, means, log_vars);
  EXPECT_TRUE(torch::equal(distances, torch::zeros({2, 4})));
  distances.sum().backward();
  for (const Tensor& leaf : {x, means, log_vars}) {
    EXPECT_TRUE(torch::isfinite(leaf.grad()).all().item<bool>());
  }
}

TEST(SemanticTuples, HoldTheClassAndWhatResemblesIt) {
  const Tensor distances =
      torch::tensor({{0.1, 0.2, 0.3}, {0.4, 0.5, 0.6}}, torch::kDouble);
  const Tensor labels = labels_of({2, 0});
  const Tensor classes = classes_in(labels);
  EXPECT_TRUE(torch::equal(classes, labels_of({0, 2})));
  const Tensor expected = torch::tensor(
      {{std::exp(-2 * 0.1), 1.0}, {1.0, std::exp(-2 * 0.6)}}, torch::kDouble);
  EXPECT_LE(
      max_difference(semantic_tuples(distances, labels, classes, 2), expected),
      1e-15);
}

TEST(SemanticTuples, OfEveryClassAreColumnsInOrder) {
  const Tensor distances = random_normal({5, 3}, 1).abs();
  const Tensor labels = labels_of({2, 0, 1, 1, 2});
  const Tensor expected =
      torch::where(torch::one_hot(labels, 3) == 1, torch::ones_like(distances),
                   torch::exp(-0.9 * distances));
  EXPECT_LE(max_difference(
                semantic_tuples(distances, labels, classes_in(labels), 0.9),
                expected),
            1e-15);
}

TEST(Hypergraph, SpreadsByTheNormalisedMatrix) {
  const Tensor h = random_normal({9, 4}, 1).abs() + 0.1;
  const Tensor y = random_normal({9, 3}, 2);
  EXPECT_LE(max_difference(Hypergraph(h).spread(y), plain_matrix(h).mm(y)),
            1e-14);
}

// With positives only, G is the mean over the class.
TEST(Hypergraph, OfClassesIsTheirMean) {
  const Tensor labels = labels_of({5, 1, 5, 1, 1, 7});
  const Tensor h = membership(labels, classes_in(labels)).to(torch::kDouble);
  const Tensor y =
      torch::tensor({{1.}, {2.}, {3.}, {4.}, {6.}, {9.}}, torch::kDouble);
  const Tensor expected =
      torch::tensor({{2.}, {4.}, {2.}, {4.}, {4.}, {9.}}, torch::kDouble);
  EXPECT_LE(max_difference(Hypergraph(h).spread(y), expected), 1e-14);
}

class GoldenHypergraph : public ::testing::TestWithParam<GoldenCase> {
 protected:
  Tensor parameter(const std::string& name) const {
    return GetParam().array(name).to(torch::kDouble);
  }
};

// Tensors of the published code, stored in float32.
TEST_P(GoldenHypergraph, EveryStepAgrees) {
  const auto meta = GetParam().meta();
  for (const auto& evaluation : meta.at("evaluations")) {
    if (!evaluation.contains("extra_arrays")) continue;
    const auto expected = [&](const char* name) {
      return GetParam().array(evaluation.at("extra_arrays").at(name));
    };
    const Tensor z = parameter(evaluation.at("input"));
    const Tensor labels = GetParam().array("labels");
    const Tensor distances =
        class_distances(z, parameter("means"), parameter("log_vars"));
    const Tensor h = semantic_tuples(distances, labels, classes_in(labels),
                                     evaluation.at("hyper").at("alpha"));
    EXPECT_LE(max_difference(h, expected("H")), 1e-7);

    const Hypergraph graph(h);
    const Tensor eye = torch::eye(z.size(0), torch::kDouble);
    EXPECT_LE(max_difference(graph.spread(eye), expected("G")), 1e-7);

    const Hgnn network = {parameter("theta1_weight"), parameter("theta1_bias"),
                          parameter("bn1_weight"),    parameter("bn1_bias"),
                          parameter("theta2_weight"), parameter("theta2_bias")};
    const auto spread = [&](const Tensor& y) { return graph.spread(y); };
    EXPECT_LE(max_difference(network.classify(z, spread), expected("hgnn_out")),
              1e-6);

    // kith keeps no running statistics; those of one step, from 0 and 1 with
    // momentum 0.1, show what batch norm saw.
    const Tensor first = graph.spread(
        torch::linear(z, network.theta1_weight, network.theta1_bias));
    EXPECT_LE(max_difference(0.1 * first.mean(0), expected("bn_running_mean")),
              1e-6);
    EXPECT_LE(max_difference(0.9 + 0.1 * first.var(0, /*unbiased=*/true),
                             expected("bn_running_var")),
              1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Hist, GoldenHypergraph,
                         ::testing::ValuesIn(golden_cases("hist")),
                         [](const auto& param_info) {
                           return param_info.param.test_name();
                         });

}  // namespace
}  // namespace kith
