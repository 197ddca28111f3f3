#include "kith/ops/snr.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

TEST(SnrRows, GiveRatiosOfVariances) {
  const Tensor x = random_normal({5, 7}, 1) + 3;
  const SnrRows rows = snr_rows(x);
  const Tensor noise = (x[1] - x[0]).var() / x[0].var();
  const Tensor ratio =
      (rows.centred[1] - rows.centred[0]).square().sum() * rows.inverse[0];
  EXPECT_NEAR(ratio.item<double>(), noise.item<double>(), 1e-13);
  EXPECT_LE(max_difference(rows.mean, x.mean(1)), 1e-15);
  EXPECT_FALSE(rows.flat.any().item<bool>());
}

TEST(SnrRows, KnowWhatHasNoVariance) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    Tensor x = random_normal({5, 7}, 1, type);
    x[1] = 0;
    x[2] = 0.3;  // whose mean is rounded
    x[3] = 1 / std::sqrt(7.0);
    x[4][0] = std::nan("");
    x.requires_grad_();
    const SnrRows rows = snr_rows(x);
    EXPECT_TRUE(
        torch::equal(rows.flat, labels_of({0, 1, 1, 1, 0}).to(torch::kBool)));
    EXPECT_EQ(rows.inverse.slice(0, 1, 4).abs().sum().item<double>(), 0);
    rows.inverse.sum().backward();
    EXPECT_EQ(x.grad().slice(0, 1, 4).abs().sum().item<double>(), 0);
    EXPECT_TRUE(std::isnan(rows.inverse[4].item<double>()));
  }
}

// Ratios have no scale.
TEST(SnrRows, AreTheSameAtAnyScale) {
  const Tensor x = random_normal({5, 7}, 1, at::kFloat) + 0.5;
  const SnrRows rows = snr_rows(x);
  for (const double scale : {0x1p67, 0x1p-84}) {
    const SnrRows scaled = snr_rows(x * scale);
    EXPECT_TRUE(torch::equal(scaled.centred, rows.centred)) << scale;
    EXPECT_TRUE(torch::equal(scaled.inverse, rows.inverse)) << scale;
    EXPECT_FALSE(scaled.flat.any().item<bool>());
  }
  Tensor dark = x * 0x1p-84;
  dark[3] = 0;
  EXPECT_TRUE(torch::equal(snr_rows(dark).centred[0], rows.centred[0]));
  Tensor apart = x.clone();
  apart[2] *= 0x1p-84;  // no ratio of it to the others is a float32
  EXPECT_FALSE(snr_rows(apart).flat.any().item<bool>());
  EXPECT_TRUE(std::isinf(snr_rows(apart).inverse[2].item<double>()));
}

}  // namespace
}  // namespace kith
