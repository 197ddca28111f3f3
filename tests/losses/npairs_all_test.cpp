#include "kith/losses/npairs_all.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/pairwise.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// Few pairs are one matrix, many go through the row engine: on both sides of
/// the border (2048) the loss is the plain formula.
TEST(NpairsAll, IsTheFormulaForFewAndForManyPairs) {
  const NpairsAll loss;
  for (const int64_t classes : {3, 2048, 2049}) {
    SCOPED_TRACE(classes);
    LossInput input;
    input.embeddings = normalize_rows(random_normal({2 * classes, 3}, 1));
    input.labels = torch::arange(classes).repeat({2});
    const LossGradient result = differentiate(loss, input);
    const Tensor x = input.embeddings.clone().requires_grad_();
    const Tensor s = torch::mm(x.slice(0, 0, classes), x.slice(0, classes).t());
    const Tensor plain = (s.logsumexp(1) - s.diagonal()).mean();
    plain.backward();
    EXPECT_NEAR(result.value, plain.item<double>(), 1e-12);
    EXPECT_LE(max_difference(result.gradient, x.grad()), 1e-14);
  }
}

}  // namespace
}  // namespace kith
