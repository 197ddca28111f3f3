#include "kith/losses/hist.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/expect_gradient.h"
#include "tests/support/torch/loss_subjects.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

const std::vector<std::string> kAblations = {
    "none",   "baseline", "attention", "positives", "no_distribution_loss",
    "proxies"};

std::string yaml_of(const std::string& ablation) {
  return "{name: hist, hidden: 8, tau: 10, lambda_s: 0.7, ablation: " +
         ablation + "}";
}

std::map<std::string, Tensor> by_name(const Loss& loss) {
  std::map<std::string, Tensor> all;
  for (const auto& [name, tensor] : loss.named_parameters().pairs())
    all[name] = tensor;
  return all;
}

LossContext hist_context(int64_t classes, int64_t dim, uint64_t seed = 1) {
  LossContext context;
  context.classes = classes;
  context.dim = dim;
  context.seed = seed;
  return context;
}

/// The loss as its formulas are written: M x C x D differences, M x M matrix.
Tensor plain_hist(const std::string& ablation,
                  const std::map<std::string, Tensor>& p, const Tensor& z,
                  const Tensor& labels) {
  const auto mean_nll = [&](const Tensor& logits) {
    return -logits.log_softmax(1).gather(1, labels.unsqueeze(1)).mean();
  };
  const int64_t classes = p.at("theta2_bias").size(0);
  const Tensor own = torch::one_hot(labels, classes).to(torch::kBool);
  const Tensor present = own.any(0).nonzero().flatten();
  Tensor m;  // [M, C]
  if (p.count("means")) {
    Tensor square =
        (normalize_rows(z).unsqueeze(1) - normalize_rows(p.at("means")))
            .square();
    if (ablation != "proxies") {
      square = square / p.at("log_vars").clamp(0, 6).exp();
    }
    m = square.sum(2);
  }
  Tensor g = torch::eye(z.size(0), torch::kDouble);
  if (ablation == "attention") {
    g = (z.mm(z.t()) / std::sqrt(static_cast<double>(z.size(1)))).softmax(1);
  } else if (ablation != "baseline") {
    const Tensor one = torch::ones_like(own, torch::kDouble);
    const Tensor h =
        torch::where(own, one, m.defined() ? (-0.9 * m).exp() : one * 0)
            .index_select(1, present);
    const Tensor dv = torch::diag(h.sum(1).pow(-0.5));
    const Tensor de = torch::diag(h.sum(0).reciprocal());
    g = dv.mm(h).mm(de).mm(h.t()).mm(dv);
  }
  const Tensor first =
      g.mm(z.mm(p.at("theta1_weight").t()) + p.at("theta1_bias"));
  const Tensor normal = (first - first.mean(0)) /
                        (first.var(0, /*unbiased=*/false) + 1e-5).sqrt();
  const Tensor scaled = normal * p.at("bn1_weight") + p.at("bn1_bias");
  const Tensor hidden = torch::where(scaled > 0, scaled, 0.1 * scaled);
  const Tensor logits =
      g.mm(hidden.mm(p.at("theta2_weight").t()) + p.at("theta2_bias"));
  const Tensor value = 0.7 * mean_nll(logits);
  return ablation == "none" || ablation == "proxies" ? value + mean_nll(-10 * m)
                                                     : value;
}

class HistAblation : public ::testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Loss> make(const Tensor& z, int64_t classes) {
    return make_loss_for(yaml_of(GetParam()), z, classes);
  }

  static void expect_finite(const Tensor& z, const Tensor& labels,
                            int64_t classes) {
    const auto loss = make(z, classes);
    const LossGradient result = differentiate(*loss, {z, labels, {}});
    EXPECT_TRUE(std::isfinite(result.value)) << result.value;
    ASSERT_TRUE(result.gradient.defined());
    EXPECT_TRUE(torch::isfinite(result.gradient).all().item<bool>());
    for (const auto& [name, tensor] : loss->named_parameters().pairs()) {
      if (!tensor.grad().defined()) continue;
      EXPECT_TRUE(torch::isfinite(tensor.grad()).all().item<bool>()) << name;
    }
  }
};

TEST_P(HistAblation, IsItsFormula) {
  const Tensor z = random_normal({12, 5}, 1);
  const Tensor labels = labels_of({3, 1, 1, 0, 3, 3, 5, 1, 0, 5, 5, 1});
  const auto loss = make(z, 7);
  const auto parameters = by_name(*loss);
  expect_same(differentiate(*loss, {z, labels, {}}),
              differentiate_function(
                  [&](const Tensor& x) {
                    return plain_hist(GetParam(), parameters, x, labels);
                  },
                  z),
              1e-12, 1e-11);
}

// The published code makes one column for two classes.
TEST_P(HistAblation, TakesTwoClasses) {
  const Tensor z = random_normal({6, 5}, 1);
  const Tensor labels = labels_of({0, 1, 1, 0, 1, 1});
  const auto loss = make(z, 2);
  EXPECT_NEAR((*loss)(z, labels).value.item<double>(),
              plain_hist(GetParam(), by_name(*loss), z, labels).item<double>(),
              1e-12);
}

TEST_P(HistAblation, IsFiniteInDegenerateBatches) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    const Tensor z = random_normal({6, 4}, 2, type);
    expect_finite(z, labels_of({2, 2, 2, 2, 2, 2}), 4);
    expect_finite(z, labels_of({0, 1, 2, 3, 4, 5}), 6);
    expect_finite(z, labels_of({0, 0, 0, 0, 0, 0}), 1);
    expect_finite(z.slice(0, 0, 1), labels_of({1}), 4);
    expect_finite(z.slice(0, 0, 0), labels_of({}), 4);
    expect_finite(torch::zeros_like(z), labels_of({0, 0, 1, 1, 2, 2}), 4);
    expect_finite(torch::ones_like(z), labels_of({0, 0, 1, 1, 2, 2}), 4);
  }
}

TEST_P(HistAblation, HasOnlyTheParametersItUses) {
  const auto loss = make_loss(yaml_of(GetParam()), hist_context(7, 5));
  const Tensor z = random_normal({6, 5}, 1, at::kFloat);
  differentiate(*loss, {z, labels_of({0, 1, 1, 0, 1, 6}), {}});
  for (const auto& [name, tensor] : loss->named_parameters().pairs()) {
    EXPECT_TRUE(tensor.grad().defined()) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Hist, HistAblation, ::testing::ValuesIn(kAblations),
                         [](const auto& param_info) {
                           return param_info.param;
                         });

// Unit embeddings on the mean of their class and at right angles to the other:
// distances 0 and 2 of unit variance, and 2 / e of log-variance 1.
TEST(Hist, LossOfDistributionsByHand) {
  LossContext context;
  context.given = Hist({}, hist_context(2, 2)).named_parameters().pairs();
  const Tensor axes = torch::eye(2);
  for (auto& [name, tensor] : context.given) {
    if (name == "means") tensor = 3 * axes;
    if (name == "log_vars") tensor = torch::tensor({{0.f, 0.f}, {1.f, 1.f}});
  }
  const Hist loss({.tau = 1.5, .lambda_s = 0}, context);
  const LossOutput output = loss(5 * axes, labels_of({0, 1}));
  const double expected = (std::log1p(std::exp(-1.5 * 2 / std::exp(1.0))) +
                           std::log1p(std::exp(-1.5 * 2))) /
                          2;
  EXPECT_NEAR(output.value.item<double>(), expected, 1e-6);
  EXPECT_EQ(output.stats.at(0).second, 2);
}

TEST(Hist, ParametersStartAsPublished) {
  const auto p = by_name(Hist({}, hist_context(50, 400)));
  const auto std_of = [&](const char* name) {
    return p.at(name).std().item<double>();
  };
  const auto most = [&](const char* name) {
    return p.at(name).abs().max().item<double>();
  };
  EXPECT_EQ(p.size(), 8u);
  EXPECT_EQ(p.at("means").sizes(), (std::vector<int64_t>{50, 400}));
  EXPECT_NEAR(std_of("means"), std::sqrt(2.0 / 50), 0.005);
  EXPECT_NEAR(std_of("log_vars"), std::sqrt(2.0 / 50), 0.005);
  EXPECT_GT(max_difference(p.at("means"), p.at("log_vars")), 0.1);
  EXPECT_EQ(p.at("theta1_weight").sizes(), (std::vector<int64_t>{512, 400}));
  EXPECT_NEAR(most("theta1_weight"), 1 / std::sqrt(400.0), 1e-4);
  EXPECT_NEAR(most("theta1_bias"), 1 / std::sqrt(400.0), 2e-3);
  EXPECT_EQ(p.at("theta2_weight").sizes(), (std::vector<int64_t>{50, 512}));
  EXPECT_NEAR(most("theta2_weight"), 1 / std::sqrt(512.0), 1e-4);
  EXPECT_EQ(p.at("theta2_bias").sizes(), (std::vector<int64_t>{50}));
  EXPECT_TRUE(torch::equal(p.at("bn1_weight"), torch::ones({512})));
  EXPECT_TRUE(torch::equal(p.at("bn1_bias"), torch::zeros({512})));
}

TEST(Hist, ParametersComeFromTheSeed) {
  const auto means = [](uint64_t seed) {
    return by_name(Hist({}, hist_context(5, 4, seed))).at("means");
  };
  EXPECT_TRUE(same_bits(means(1), means(1)));
  EXPECT_FALSE(same_bits(means(1), means(2)));
}

TEST(Hist, DistributionsAndNetworkHaveTheirOwnLearningRates) {
  const Hist loss({.lr_distributions = 0.05, .lr_hgnn = 6e-4},
                  hist_context(5, 4));
  EXPECT_EQ(loss.parameter_lr("means"), 0.05);
  EXPECT_EQ(loss.parameter_lr("log_vars"), 0.05);
  for (const char* name : {"theta1_weight", "bn1_bias", "theta2_bias"}) {
    EXPECT_EQ(loss.parameter_lr(name), 6e-4) << name;
  }
}

TEST(Hist, RefusesParametersThatDoNotFit) {
  const NamedTensors all =
      Hist({}, hist_context(5, 4)).named_parameters().pairs();
  const auto refused = [](const std::string& yaml, const NamedTensors& given,
                          const auto&... parts) {
    LossContext context;
    context.given = given;
    expect_error<c10::ValueError>([&] { make_loss(yaml, context); }, parts...);
  };
  NamedTensors some = all;
  some.erase(some.begin() + 1);
  refused("{name: hist}", some, "theta1_bias", "all or none");
  refused("{name: hist}", {all.begin() + 1, all.end()}, "theta1_weight");
  NamedTensors turned = all;
  for (auto& [name, tensor] : turned) {
    if (name == "means") tensor = tensor.t();
  }
  refused("{name: hist}", turned, "means", "[5, 4]", "[4, 5]");
  refused("{name: hist, ablation: proxies}", all, "log_vars");
  refused("{name: hist}", {}, "classes");
}

TEST(Hist, RefusesEmbeddingsOfAnotherSize) {
  const Hist loss({}, hist_context(5, 4));
  expect_error<c10::ValueError>(
      [&] {
        loss(torch::ones({2, 3}), labels_of({0, 1}));
      },
      "4 dimensions", "have 3");
}

}  // namespace
}  // namespace kith
