#include "kith/ops/add_norm.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/expect_error.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// Which terms of the branch there are.
struct AddNormCase {
  bool adds, bias, scale, factor;
};
constexpr AddNormCase kAddNormCases[] = {
    {false, false, false, false}, {true, false, false, false},
    {true, true, false, false},   {true, true, true, false},
    {true, false, true, true},    {true, true, true, true}};

struct AddNormInput {
  Tensor x;
  TokenBranch branch;
  TokenNorm norm;

  std::vector<Tensor> all() const {
    std::vector<Tensor> tensors;
    for (const Tensor& t :
         {x, norm.gamma, norm.beta, branch.a, branch.bias, branch.scale}) {
      if (t.defined()) tensors.push_back(t);
    }
    return tensors;
  }

  AddNormInput to(c10::Device device) const {
    const auto there = [&](const Tensor& t) {
      return t.defined() ? t.detach().to(device).requires_grad_() : t;
    };
    return {there(x),
            {there(branch.a), there(branch.bias), there(branch.scale),
             branch.factor.defined() ? branch.factor.to(device) : Tensor()},
            {there(norm.gamma), there(norm.beta), norm.eps}};
  }
};

AddNormInput add_norm_input(const AddNormCase& c, std::vector<int64_t> sizes,
                            at::ScalarType tokens, at::ScalarType products) {
  const int64_t width = sizes.back();
  const auto leaf = [](Tensor t) { return t.requires_grad_(); };
  AddNormInput in;
  in.x = leaf(random_normal(sizes, 1, tokens));
  in.norm = {leaf(random_normal({width}, 2, tokens)),
             leaf(random_normal({width}, 3, tokens)), 1e-3};
  if (c.adds) {
    in.branch.a = leaf(random_normal(sizes, 4, at::kFloat).to(products));
  }
  if (c.bias) in.branch.bias = leaf(random_normal({width}, 5, tokens));
  if (c.scale) in.branch.scale = leaf(random_normal({width}, 6, tokens));
  if (c.factor) {
    in.branch.factor = random_normal({sizes[0]}, 7, tokens);
    in.branch.factor.narrow(0, 0, std::min<int64_t>(1, sizes[0])).zero_();
  }
  return in;
}

std::pair<Tensor, Tensor> two_layers_of(const AddNormInput& in,
                                        at::ScalarType type) {
  const Tensor y = add_branch(in.x, in.branch);
  return {y, torch::layer_norm(y, {y.size(2)}, in.norm.gamma, in.norm.beta,
                               in.norm.eps)
                 .to(type)};
}

/// y, n and the gradients of a weighted sum of both.
std::vector<Tensor> results_of(const AddNormInput& in,
                               const std::pair<Tensor, Tensor>& out,
                               bool with_y = true) {
  const auto& [y, n] = out;
  const auto weights = [](const Tensor& of, uint64_t seed) {
    return random_normal(of.sizes().vec(), seed, at::kFloat)
        .to(of.device(), of.scalar_type());
  };
  std::vector<Tensor> outputs = {n}, given = {weights(n, 8)};
  if (with_y) {
    outputs.push_back(y);
    given.push_back(weights(y, 9));
  }
  std::vector<Tensor> all = torch::autograd::grad(outputs, in.all(), given);
  all.push_back(y.detach());
  all.push_back(n.detach());
  return all;
}

void expect_close(const std::vector<Tensor>& got,
                  const std::vector<Tensor>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].scalar_type(), expected[i].scalar_type()) << i;
    EXPECT_EQ(got[i].sizes(), expected[i].sizes()) << i;
    if (expected[i].numel() == 0) continue;
    const double size = expected[i].abs().max().item<double>();
    EXPECT_LE(max_difference(got[i], expected[i]), tolerance * (1 + size)) << i;
  }
}

TEST(AddNorm, IsTheSumAndLayerNormOfIt) {
  for (const AddNormCase& c : kAddNormCases) {
    for (const std::vector<int64_t>& sizes :
         {std::vector<int64_t>{3, 5, 16}, {1, 1, 7}, {2, 400, 8}}) {
      const AddNormInput in =
          add_norm_input(c, sizes, at::kDouble, at::kDouble);
      const auto fused = [&] {
        return add_norm(in.x, in.branch, in.norm, at::kDouble);
      };
      for (const bool with_y : {true, false}) {
        expect_close(results_of(in, fused(), with_y),
                     results_of(in, two_layers_of(in, at::kDouble), with_y),
                     1e-12);
      }
      const Tensor y = fused().first, n = fused().second;
      const torch::NoGradGuard no_grad;
      EXPECT_TRUE(same_bits(fused().first, y.detach()));
      EXPECT_TRUE(same_bits(fused().second, n.detach()));
    }
  }
}

TEST(AddNorm, TokensAloneHaveAGradient) {
  const AddNormInput in = add_norm_input({true, true, true, true}, {2, 3, 8},
                                         at::kDouble, at::kDouble);
  const auto [y, n] = add_norm(in.x, in.branch, in.norm, at::kDouble);
  const auto [plain, unused] = two_layers_of(in, at::kDouble);
  const std::vector<Tensor> of = {in.x, in.branch.a, in.branch.bias,
                                  in.branch.scale};
  expect_close(torch::autograd::grad({y.square().sum()}, of),
               torch::autograd::grad({plain.square().sum()}, of), 1e-12);
}

/// The residual stream stays float32: only the branch and n are rounded.
TEST(AddNorm, TakesBranchesInBfloat16) {
  for (const AddNormCase& c : kAddNormCases) {
    for (const at::ScalarType type : {at::kBFloat16, at::kFloat}) {
      if (!c.adds && type == at::kFloat) continue;
      const AddNormInput in =
          add_norm_input(c, {3, 5, 16}, at::kFloat, at::kBFloat16);
      const auto out = add_norm(in.x, in.branch, in.norm, type);
      EXPECT_EQ(out.first.scalar_type(), at::kFloat);
      const std::vector<Tensor> got = results_of(in, out);
      const std::vector<Tensor> expected =
          results_of(in, two_layers_of(in, type));
      expect_close(got, expected, 1e-2);
      // Of float32 where no rounding of n comes before: y.
      EXPECT_LE(
          max_difference(got[got.size() - 2], expected[expected.size() - 2]),
          1e-5);
    }
  }
}

TEST(AddNorm, RefusesASecondDerivative) {
  const AddNormInput in = add_norm_input({true, true, true, true}, {2, 3, 8},
                                         at::kDouble, at::kDouble);
  const auto [y, n] = add_norm(in.x, in.branch, in.norm, at::kDouble);
  EXPECT_THROW(torch::autograd::grad({n.sum()}, {in.x}, {}, true, true),
               c10::Error);
}

TEST(AddNorm, HasTheSameBitsWithAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  const AddNormInput in = add_norm_input({true, true, true, true}, {2, 400, 24},
                                         at::kFloat, at::kFloat);
  std::vector<std::vector<Tensor>> runs;
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    runs.push_back(
        results_of(in, add_norm(in.x, in.branch, in.norm, at::kFloat)));
  }
  at::set_num_threads(before);
  for (const std::vector<Tensor>& run : runs) {
    for (size_t i = 0; i < run.size(); ++i) {
      EXPECT_TRUE(same_bits(run[i], runs[0][i])) << i;
    }
  }
}

TEST(AddNorm, TakesNoPictures) {
  for (const AddNormCase& c : kAddNormCases) {
    const AddNormInput in =
        add_norm_input(c, {0, 3, 8}, at::kDouble, at::kDouble);
    const auto [y, n] = add_norm(in.x, in.branch, in.norm, at::kDouble);
    EXPECT_EQ(y.sizes(), in.x.sizes());
    (y.sum() + n.sum()).backward();
    for (const Tensor& t : in.all()) {
      EXPECT_TRUE(torch::equal(t.grad(), torch::zeros_like(t)));
    }
  }
}

TEST(AddNorm, RefusesOtherTypesAndShapes) {
  const TokenNorm norm = {torch::ones({8}), torch::zeros({8})};
  const auto run = [&](const Tensor& x, const Tensor& a) {
    add_norm(x, {.a = a, .bias = {}, .scale = {}, .factor = {}}, norm,
             at::kFloat);
  };
  const Tensor x = torch::ones({2, 3, 8});
  EXPECT_NO_THROW(run(x, x));
  EXPECT_THROW(run(x, x.to(at::kHalf)), c10::ValueError);
  EXPECT_THROW(run(x, torch::ones({2, 3, 4})), c10::ValueError);
  EXPECT_THROW(run(torch::ones({6, 8}), {}), c10::ValueError);
  EXPECT_THROW(run(torch::ones({2, 3, 16}), {}), c10::ValueError);
}

TEST(AddNorm, CudaGivesWhatTheCpuGives) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  for (const AddNormCase& c : kAddNormCases) {
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{3, 5, 16},
                                              {7, 197, 768},
                                              {1, 1, 8},
                                              {2, 9, 8192},
                                              {2, 50, 4104},
                                              {0, 3, 8}}) {
      for (const at::ScalarType products : {at::kFloat, at::kBFloat16}) {
        for (const at::ScalarType type : {products, at::kFloat}) {
          if (!c.adds && type != products) continue;
          SCOPED_TRACE(testing::Message() << sizes << " " << products);
          const AddNormInput in =
              add_norm_input(c, sizes, at::kFloat, products);
          const AddNormInput there = in.to(at::kCUDA);
          const std::vector<Tensor> expected =
              results_of(in, add_norm(in.x, in.branch, in.norm, type));
          const auto run = [&] {
            return results_of(
                there, add_norm(there.x, there.branch, there.norm, type));
          };
          const std::vector<Tensor> got = run(), again = run();
          for (size_t i = 0; i < got.size(); ++i) {
            EXPECT_TRUE(same_bits(got[i].cpu(), again[i].cpu())) << i;
          }
          std::vector<Tensor> here;
          for (const Tensor& t : got) here.push_back(t.cpu());
          expect_close(here, expected, products == at::kFloat ? 1e-5 : 1e-2);
        }
      }
    }
  }
}

// Kernels take them as they are.
TEST(AddNorm, RefusesParametersThatDoNotFit) {
  const Tensor x = torch::zeros({2, 3, 16}), ones = torch::ones({16});
  const auto refuse = [&](const TokenBranch& branch, const TokenNorm& norm,
                          const char* what) {
    expect_error<c10::ValueError>(
        [&] { add_norm(x, branch, norm, at::kFloat); }, what);
  };
  refuse({x, {}, {}, {}}, {ones.to(at::kDouble), ones}, "expected gamma [16]");
  refuse({x, {}, {}, {}}, {ones, torch::ones({8})}, "expected beta [16]");
  refuse({x, torch::ones({1}), {}, {}}, {ones, ones}, "expected bias [16]");
  refuse({x, {}, {}, torch::ones({1})}, {ones, ones}, "expected factor [2]");
  refuse({{}, ones, {}, {}}, {ones, ones}, "of no branch");
}

}  // namespace
}  // namespace kith
