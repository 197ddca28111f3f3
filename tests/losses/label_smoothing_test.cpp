// Label smoothing of the losses that are a cross-entropy over classes, against
// LibTorch's on logits that are computed plainly, in double.

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/losses/arcface.h"
#include "kith/losses/cosface.h"
#include "kith/losses/norm_softmax.h"
#include "kith/losses/proxy_nca_pp.h"
#include "kith/losses/soft_triple.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

namespace F = torch::nn::functional;

const std::vector<int64_t> kSmoothedLabels = {0, 4, 2, 2, 1, 0};

/// Unit rows of six examples.
Tensor smoothed_examples() {
  const Tensor x = random_normal({6, 7}, 1);
  return (x / x.norm(2, 1, true)).detach().requires_grad_();
}

Tensor smoothed_proxies(int64_t per_class = 1) {
  Tensor w = per_class == 1 ? random_normal({5, 7}, 2)
                            : random_normal({5, per_class, 7}, 2);
  return w.requires_grad_();
}

/// What a loss is a cross-entropy of: [M, C] from x and class vectors.
using Logits = std::function<Tensor(const Tensor& x, const Tensor& w)>;

Tensor cosines(const Tensor& x, const Tensor& w) {
  return x.mm((w / w.norm(2, 1, true)).t());
}

Tensor is_own() {
  return torch::one_hot(labels_of(kSmoothedLabels), 5).to(torch::kDouble);
}

template <class Type>
void expect_smoothed(typename Type::Options options, const Logits& logits,
                     int64_t per_class = 1) {
  for (const double e : {0.0, 0.1, 0.6, 1.0}) {
    SCOPED_TRACE(e);
    const Tensor x = smoothed_examples(), w = smoothed_proxies(per_class);
    options.label_smoothing = e;
    LossContext context;
    context.given = {{"proxies", w}};
    const Type loss(options, context);
    const Tensor value = loss(x, labels_of(kSmoothedLabels)).value;
    value.backward();

    const Tensor x2 = smoothed_examples(), w2 = smoothed_proxies(per_class);
    const Tensor plain =
        F::cross_entropy(logits(x2, w2), labels_of(kSmoothedLabels),
                         F::CrossEntropyFuncOptions().label_smoothing(e));
    plain.backward();
    EXPECT_NEAR(value.item<double>(), plain.item<double>(), 1e-10);
    EXPECT_LE(max_difference(x.grad(), x2.grad()), 1e-10);
    EXPECT_LE(max_difference(w.grad(), w2.grad()), 1e-10);
  }
}

TEST(LabelSmoothing, OfNormSoftmax) {
  expect_smoothed<NormSoftmax>(
      {.temperature = 0.5},
      [](const Tensor& x, const Tensor& w) { return cosines(x, w) / 0.5; });
}

TEST(LabelSmoothing, OfArcFace) {
  expect_smoothed<ArcFace>(
      {.scale = 4, .margin = 0.3}, [](const Tensor& x, const Tensor& w) {
        return 4 * (cosines(x, w).acos() + 0.3 * is_own()).cos();
      });
}

TEST(LabelSmoothing, OfCosFace) {
  expect_smoothed<CosFace>({.scale = 4, .margin = 0.3},
                           [](const Tensor& x, const Tensor& w) {
                             return 4 * (cosines(x, w) - 0.3 * is_own());
                           });
}

TEST(LabelSmoothing, OfProxyNcaPp) {
  expect_smoothed<ProxyNcaPp>({.temperature = 0.5}, [](const Tensor& x,
                                                       const Tensor& w) {
    const Tensor apart = x.unsqueeze(1) - (w / w.norm(2, 1, true)).unsqueeze(0);
    return -apart.square().sum(2) / 0.5;
  });
}

TEST(LabelSmoothing, OfSoftTriple) {
  expect_smoothed<SoftTriple>(
      {.centers = 2, .lambda = 3, .gamma = 0.2, .delta = 0.05, .tau = 0},
      [](const Tensor& x, const Tensor& w) {
        const Tensor s =
            torch::einsum("md,ckd->mck", {x, w / w.norm(2, 2, true)});
        const Tensor soft = ((s / 0.2).softmax(2) * s).sum(2);
        return 3 * (soft - 0.05 * is_own());
      },
      2);
}

// Not a bit changes without it.
TEST(LabelSmoothing, OfZeroIsNone) {
  const Tensor logits = random_normal({6, 5}, 3, at::kFloat);
  const Tensor labels = labels_of(kSmoothedLabels);
  const SlopedValue ours = mean_cross_entropy(logits, labels, 0);
  const Tensor own = labels.unsqueeze(1);
  const Tensor log_p = logits.log_softmax(1);
  const double share = 1.0 / 6;
  EXPECT_TRUE(same_bits(ours.value, log_p.gather(1, own).sum() * -share));
  const Tensor slope = log_p.exp().mul(share).scatter_add(
      1, own, torch::full({6, 1}, -share, logits.options()));
  EXPECT_TRUE(same_bits(ours.slope, slope));
}

TEST(LabelSmoothing, IsAShare) {
  expect_error<ConfigError>(
      [] { NormSoftmax({.label_smoothing = 1.5}, {.classes = 2, .dim = 2}); },
      "'norm_softmax.label_smoothing' must be in [0, 1], got 1.5");
}

}  // namespace
}  // namespace kith
