// Products of vectors in float16, or split into two bfloat16.

#include "kith/ops/row_side.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/ops/half_product.h"
#include "tests/support/torch/batches.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

RowInput unit_batch(int64_t count, int64_t dim) {
  RowInput input;
  input.rows = random_normal({count, dim}, 3).to(torch::kFloat);
  input.rows = input.rows / input.rows.norm(2, 1, true);
  input.row_labels = torch::arange(count / 4).repeat_interleave(4);
  return input;
}

/// A way to multiply, and how far a similarity may be off.
struct Way {
  const char* name;
  RowProducts products;
  double most;
};

class HalfProducts : public testing::TestWithParam<Way> {};

TEST_P(HalfProducts, AreNearThoseOfDouble) {
  const RowInput input = unit_batch(48, 512);
  RowSides sides(input, /*is_euclidean=*/false, GetParam().products,
                 [](const RowSides&) {});
  const Tensor x = sides.rows->x.to(torch::kDouble);
  Tensor s = torch::empty({16, 32});
  sides.similarities({0, 16, 0, 16}, {16, 48, 16, 48}, s);
  const Tensor expected = torch::mm(x.slice(0, 0, 16), x.slice(0, 16, 48).t());
  EXPECT_LT(max_difference(s.to(torch::kDouble), expected), GetParam().most);

  const Tensor w = random_normal({16, 32}, 4).to(torch::kFloat);
  sides.rows->dx = torch::zeros_like(sides.rows->x);
  sides.add_gradient(w, {0, 16, 0, 16}, {16, 48, 16, 48});
  const Tensor rows = torch::mm(w.to(torch::kDouble), x.slice(0, 16, 48));
  const Tensor columns = torch::mm(w.t().to(torch::kDouble), x.slice(0, 0, 16));
  const Tensor dx = sides.rows->dx.to(torch::kDouble);
  EXPECT_LT(max_difference(dx.slice(0, 0, 16), rows), 5e-3);
  EXPECT_LT(max_difference(dx.slice(0, 16, 48), columns), 5e-3);
}

/// Slopes that come rounded are taken as they are.
TEST_P(HalfProducts, TakeRoundedSlopes) {
  const RowInput input = unit_batch(48, 32);
  const auto gradient = [&](bool rounded) {
    RowSides sides(input, /*is_euclidean=*/true, GetParam().products,
                   [](const RowSides&) {});
    Tensor w = random_normal({16, 32}, 4).to(torch::kFloat).to(at::kBFloat16);
    if (!rounded) w = w.to(torch::kFloat);
    sides.rows->dx = torch::zeros_like(sides.rows->x);
    sides.add_gradient(w, {0, 16, 0, 16}, {16, 48, 16, 48});
    return sides.rows->dx;
  };
  EXPECT_LT(max_difference(gradient(true), gradient(false)), 1e-5);
}

TEST_P(HalfProducts, AreTakenOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  // Several blocks, the last one of another size; and one block.
  for (const int64_t count : {600, 252, 12}) {
    const RowInput input = unit_batch(count, 96);
    const auto run = [&](const std::string& products, at::Device device,
                         at::ScalarType type) {
      const auto loss = loss_registry().make(
          parse_config("{name: recall_at_k, t2: 0.05, block: 256, products: " +
                           products + "}",
                       "test"),
          "loss", {});
      Tensor x = input.rows.to(device, type).detach().requires_grad_();
      const Tensor value = (*loss)(x, input.row_labels.to(device)).value;
      value.backward();
      return std::make_pair(value.item<double>(),
                            x.grad().to(torch::kCPU, torch::kDouble));
    };
    const auto [value, gradient] = run("float32", at::kCPU, torch::kDouble);
    const auto [near_value, near] =
        run(GetParam().name, at::kCUDA, torch::kFloat);
    EXPECT_NEAR(near_value, value, 1e-4);
    EXPECT_LT((near - gradient).norm().item<double>(),
              5e-3 * gradient.norm().item<double>());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways, HalfProducts,
    testing::Values(Way{"float16", RowProducts::kFloat16, 1e-4},
                    Way{"bf16_split", RowProducts::kBf16Split, 1e-5}),
    [](const auto& way) { return std::string(way.param.name); });

/// Many unit vectors are rounded to float16 for their similarities, and others
/// are not.
TEST(Tf32Products, OfManyVectorsAreNearThoseOfFloat32) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  const RowInput input = unit_batch(8200, 32);
  for (const double length : {1.0, 300.0}) {
    const auto run = [&](const std::string& products) {
      const auto loss = loss_registry().make(
          parse_config("{name: recall_at_k, t2: " +
                           std::to_string(0.05 * length * length) +
                           ", products: " + products + "}",
                       "test"),
          "loss", {});
      Tensor x = (input.rows.to(at::kCUDA) * length).requires_grad_();
      const Tensor value = (*loss)(x, input.row_labels.to(at::kCUDA)).value;
      value.backward();
      return std::make_pair(value.item<double>(),
                            x.grad().to(torch::kCPU, torch::kDouble));
    };
    const auto [value, gradient] = run("float32");
    const auto [near_value, near] = run("tf32");
    EXPECT_NEAR(near_value, value, 1e-4);
    EXPECT_LT((near - gradient).norm().item<double>(),
              5e-3 * gradient.norm().item<double>());
  }
}

TEST(Float16Products, NeedUnitVectors) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  const RowInput input = unit_batch(48, 32);
  const auto loss = loss_registry().make(
      parse_config("{name: recall_at_k, products: float16}", "test"), "loss",
      {});
  const Tensor x = input.rows.to(at::kCUDA) * 3;
  const Tensor y = input.row_labels.to(at::kCUDA);
  EXPECT_THROW((*loss)(x, y), c10::ValueError);
}

}  // namespace
}  // namespace kith
