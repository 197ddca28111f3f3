#include "kith/losses/class_vectors.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/expect_error.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

LossContext context_of(int64_t classes, int64_t dim, uint64_t seed = 0) {
  LossContext context;
  context.classes = classes;
  context.dim = dim;
  context.seed = seed;
  return context;
}

LossContext given(const NamedTensors& tensors, int64_t dim = 0) {
  LossContext context;
  context.dim = dim;
  context.given = tensors;
  return context;
}

Tensor drawn(ClassInit init, int64_t per_class = 1, uint64_t seed = 0) {
  const ClassVectors vectors(context_of(50, 64, seed), init, per_class);
  return vectors.values().detach();
}

TEST(ClassVectors, ParametersAreDrawn) {
  const ClassVectors one(context_of(5, 3), ClassInit::kUniformDim);
  const Tensor values = one.values();
  EXPECT_EQ(one.name(), "proxies");
  EXPECT_EQ(values.sizes(), (std::vector<int64_t>{5, 3}));
  EXPECT_EQ(values.scalar_type(), at::kFloat);
  EXPECT_TRUE(values.is_leaf() && values.requires_grad());
  EXPECT_EQ(one.classes(), 5);
  EXPECT_EQ(drawn(ClassInit::kUniformDim, 3).sizes(),
            (std::vector<int64_t>{50, 3, 64}));
}

TEST(ClassVectors, SameSeedSameVectors) {
  const Tensor first = drawn(ClassInit::kHeCount, 1, 7);
  EXPECT_TRUE(same_bits(first, drawn(ClassInit::kHeCount, 1, 7)));
  EXPECT_GT(max_difference(first, drawn(ClassInit::kHeCount, 1, 8)), 0.01);
}

TEST(ClassVectors, DrawingLeavesOtherRandomNumbersAlone) {
  torch::manual_seed(1);
  const Tensor expected = torch::rand({4});
  torch::manual_seed(1);
  drawn(ClassInit::kUniformDim);
  EXPECT_TRUE(same_bits(torch::rand({4}), expected));
}

TEST(ClassVectors, FirstValuesHaveThePublishedSize) {
  const auto most = [](const Tensor& x) {
    return x.abs().max().item<double>();
  };
  const auto deviation = [](const Tensor& x) { return x.std().item<double>(); };
  const auto expect_uniform = [&](const Tensor& x, double bound) {
    EXPECT_LE(most(x), bound);
    EXPECT_NEAR(deviation(x), bound / std::sqrt(3), 0.05 * bound);
  };
  expect_uniform(drawn(ClassInit::kUniformDim), 1.0 / 8);
  expect_uniform(drawn(ClassInit::kUniformCount, 2), 1.0 / 10);
  EXPECT_NEAR(deviation(drawn(ClassInit::kNormalEighth)), 0.125, 0.01);
  EXPECT_NEAR(deviation(drawn(ClassInit::kHeCount)), 0.2, 0.01);
}

TEST(ClassVectors, ProductsAreOfUnitVectorsTimesAScale) {
  const Tensor w = torch::tensor({{3.0, 4.0}, {0.0, 0.0}}, torch::kDouble);
  const ClassVectors vectors(given({{"proxies", w}}), ClassInit::kUniformDim);
  const ClassProducts products =
      vectors.products(torch::ones({1, 2}, torch::kFloat), 10);
  EXPECT_EQ(products.values().scalar_type(), at::kFloat);
  EXPECT_LE(
      max_difference(products.ends(), torch::tensor({{6.0, 8.0}, {0.0, 0.0}})),
      1e-6);
  EXPECT_LE(max_difference(products.values(), torch::tensor({{14.0, 0.0}})),
            1e-6);
}

TEST(ClassVectors, SlopesOfProductsGoToBothSides) {
  const Tensor w = random_normal({4, 3}, 1);
  const Tensor weights = random_normal({5, 4}, 2);
  const Tensor of_ends = random_normal({4, 3}, 3);
  const Tensor x = random_normal({5, 3}, 4).requires_grad_();
  const ClassVectors vectors(given({{"proxies", w}}), ClassInit::kUniformDim);
  const ClassProducts products = vectors.products(x, 2);
  const Tensor value =
      (products.values() * weights).sum() + (products.ends() * of_ends).sum();
  products.connect({value, weights}, of_ends).backward();

  const Tensor x2 = x.detach().clone().requires_grad_();
  const Tensor w2 = w.detach().clone().requires_grad_();
  const Tensor ends = 2 * w2 / w2.norm(2, 1, true);
  const Tensor plain =
      (torch::mm(x2, ends.t()) * weights).sum() + (ends * of_ends).sum();
  plain.backward();
  EXPECT_NEAR(value.item<double>(), plain.item<double>(), 1e-12);
  EXPECT_LE(max_difference(x.grad(), x2.grad()), 1e-12);
  EXPECT_LE(max_difference(w.grad(), w2.grad()), 1e-12);

  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(products.connect({value.detach(), weights}).requires_grad());
}

/// Files of other codes: the same vectors, by other names and transposed.
TEST(ClassVectors, LayoutsOfOtherCodesGiveTheSame) {
  LossInput input;
  input.embeddings = random_normal({6, 3}, 1);
  input.labels = labels_of({0, 3, 1, 1, 2, 0});
  const Tensor w = random_normal({4, 3}, 2);
  const auto run = [&](const std::string& name, const Tensor& values) {
    const auto loss =
        make_loss("{name: norm_softmax}", given({{name, values}}, 3));
    EXPECT_EQ(loss->classes(), 4);
    EXPECT_EQ(loss->named_parameters().keys(), std::vector{name});
    EXPECT_TRUE(loss->parameters().at(0).is_same(values));
    return differentiate(*loss, input).value;
  };
  const Tensor plain = w.clone();
  const double value = run("proxies", plain);
  const Tensor class_map = w.clone();
  EXPECT_EQ(run("class_map", class_map), value);
  EXPECT_TRUE(same_bits(class_map.grad(), plain.grad()));
  for (const std::string name : {"W", "fc", "weight", "centroids"}) {
    const Tensor columns = w.t().contiguous();
    EXPECT_NEAR(run(name, columns), value, 1e-12) << name;
    EXPECT_LE(max_difference(columns.grad(), plain.grad().t()), 1e-12) << name;
  }
}

TEST(ClassVectors, SeveralVectorsAClassAreNeighbouringColumns) {
  LossInput input;
  input.embeddings = random_normal({6, 3}, 1);
  input.labels = labels_of({0, 3, 1, 1, 2, 0});
  const Tensor w = random_normal({4, 2, 3}, 2);
  const auto run = [&](const std::string& name, const Tensor& values) {
    const auto loss = make_loss("{name: soft_triple}", given({{name, values}}));
    EXPECT_EQ(loss->classes(), 4);
    return differentiate(*loss, input).value;
  };
  const Tensor columns = w.view({8, 3}).t().contiguous();
  EXPECT_NEAR(run("centroids", columns), run("proxies", w), 1e-12);
  EXPECT_LE(max_difference(columns.grad().t(), w.grad().view({8, 3})), 1e-12);
}

TEST(ClassVectors, WrongVectorsAreRefused) {
  const auto refused = [](const NamedTensors& tensors, int64_t per_class,
                          const auto&... parts) {
    expect_error<c10::ValueError>(
        [&] {
          ClassVectors(given(tensors, 3), ClassInit::kUniformDim, per_class);
        },
        parts...);
  };
  const Tensor w = torch::ones({4, 3});
  refused({{"proxy", w}}, 1, "'proxy'", "proxies, class_map, W, fc", "rename");
  refused({{"proxies", w}, {"W", w.t()}}, 1, "'proxies' and 'W'", "keep one");
  refused({{"proxies", w.to(torch::kLong)}}, 1, "'proxies'", "floating point");
  refused({{"proxies", w.view({4, 3, 1})}}, 1, "'proxies'", "[C, D]",
          "[4, 3, 1]");
  refused({{"W", w}}, 1, "'W'", "[D, C]", "D 4", "3 numbers");
  refused({{"proxies", torch::ones({4, 5})}}, 1, "'proxies'", "3 numbers");
  refused({{"fc", torch::ones({3, 5})}}, 2, "'fc'", "[D, C * 2]", "[3, 5]");
  refused({{"proxies", torch::ones({4, 3, 3})}}, 2, "[C, 2, D]", "[4, 3, 3]");
}

TEST(ClassVectors, TheNumberOfClassesMustBeKnown) {
  expect_error<c10::ValueError>([] { make_loss("{name: arcface}"); },
                                "how many classes");
  const auto loss = make_loss("{name: arcface}", context_of(4, 3));
  LossInput input;
  input.embeddings = torch::ones({1, 2});
  input.labels = labels_of({0});
  expect_error<c10::ValueError>([&] { (*loss)(input); }, "embeddings have 2",
                                "class vectors have 3");
  input.embeddings = torch::ones({1, 3});
  input.labels = labels_of({4});
  expect_error<c10::ValueError>([&] { (*loss)(input); }, "4 classes", "0 to 3");
}

TEST(ClassVectors, TheTrainerMayMoveTheParameter) {
  const ClassVectors vectors(context_of(4, 3), ClassInit::kUniformDim);
  Tensor values = vectors.values();
  values.set_data(torch::eye(4).narrow(1, 0, 3) * 5);
  const Tensor x = torch::ones({1, 3});
  EXPECT_LE(max_difference(vectors.products(x).values(),
                           torch::tensor({{1.0, 1.0, 1.0, 0.0}})),
            1e-6);
}

}  // namespace
}  // namespace kith
