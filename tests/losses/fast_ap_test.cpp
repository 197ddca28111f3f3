#include "kith/losses/fast_ap.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/support/torch/expect_gradient.h"
#include "tests/support/torch/reference_losses.h"

namespace kith {
namespace {

/// A query whose only positive lies just above a centre of the histogram, so
/// that the first bin with anything in it has next to nothing: the precision
/// there is a ratio of two tiny numbers, and its slope is that of a full bin.
TEST(FastApLoss, NearlyEmptyBins) {
  for (const double mass : {1e-3, 1e-6, 1e-8, 1e-10, 1e-12}) {
    SCOPED_TRACE(mass);
    // Places between centres, 5 a unit of similarity.
    const std::vector<double> places = {3 - mass, 6.5, 7.25};
    std::vector<double> points;
    for (const double place : places) {
      const double s = 1 - place / 5;
      points.insert(points.end(), {s, std::sqrt(1 - s * s)});
    }
    const Tensor columns = torch::tensor(points, torch::kDouble).view({3, 2});
    LossInput input;
    input.embeddings = torch::tensor({1.0, 0.0}, torch::kDouble).view({1, 2});
    input.labels = labels_of({1});
    const LossGradient expected = differentiate_function(
        [&](const Tensor& y) {
          return reference_loss(
              "fast_ap", {torch::mm(input.embeddings, y.t()), input.labels,
                          labels_of({1, 2, 2}), labels_of({-1})});
        },
        columns);
    const FastAp loss;
    const LossGradient actual = differentiate_function(
        [&](const Tensor& y) {
          input.database = {y, labels_of({1, 2, 2}), Tensor()};
          return loss(input).value;
        },
        columns);
    expect_same(actual, expected, 1e-12, 1e-11);
  }
}

}  // namespace
}  // namespace kith
