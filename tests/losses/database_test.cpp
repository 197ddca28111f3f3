// LossInput::database: a batch that is compared with others.
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

class DatabaseOfALoss : public ::testing::Test {
 protected:
  DatabaseOfALoss() {
    input_.embeddings = normalize_rows(random_normal({7, 4}, 1));
    input_.labels = labels_of({3, 1, 3, 2, 1, 3, 9});
    input_.database.embeddings = input_.embeddings;
    input_.database.labels = input_.labels;
    input_.database.self = torch::arange(7);
  }

  template <typename... Parts>
  void expect_refused(const Parts&... parts) const {
    expect_error<c10::ValueError>(
        [&] { (*make_loss("{name: recall_at_k}"))(input_); }, parts...);
  }

  LossInput input_;
};

TEST_F(DatabaseOfALoss, OfTheBatchItselfChangesNothing) {
  LossInput alone = input_;
  alone.database = {};
  const Tensor order = random_permutation(7, 3);
  for (const char* name :
       {"recall_at_k", "smooth_ap", "fast_ap", "ap_quantised"}) {
    SCOPED_TRACE(name);
    const auto loss = make_loss("{name: " + std::string(name) + "}");
    const LossGradient expected = differentiate(*loss, alone);
    // Once as queries and once as database, which has another order.
    const auto x = input_.embeddings.clone().requires_grad_(true);
    const auto y =
        input_.embeddings.index_select(0, order).requires_grad_(true);
    LossInput both;
    both.embeddings = x;
    both.labels = input_.labels;
    both.database = {y, input_.labels.index_select(0, order), order.argsort()};
    const Tensor value = (*loss)(both).value;
    value.backward();
    EXPECT_NEAR(value.item<double>(), expected.value, 1e-12);
    EXPECT_LE(
        max_difference(x.grad() + y.grad().index_select(0, order.argsort()),
                       expected.gradient),
        1e-11);
  }
}

TEST_F(DatabaseOfALoss, ChecksVectors) {
  input_.database.embeddings = input_.embeddings.narrow(1, 0, 3);
  expect_refused("database must be Double [C, 4]", "[7, 3]");
  input_.database.embeddings = input_.embeddings.to(at::kFloat);
  expect_refused("database must be Double", "Float");
}

TEST_F(DatabaseOfALoss, ChecksLabels) {
  input_.database.labels = Tensor();
  expect_refused("database's labels", "int64 [7]");
  input_.database.labels = labels_of({1, 2});
  expect_refused("database's labels", "int64 [7]");
}

TEST_F(DatabaseOfALoss, ChecksPlaces) {
  input_.database.self = labels_of({0, 1});
  expect_refused("places", "int64 [7]", "[2]");
  input_.database.self = torch::arange(7) + 1;
  expect_refused("places", "1 to 7", "to 6");
  input_.database.self = torch::arange(7) - 2;
  expect_refused("places", "-2 to 4");
  input_.database.self = torch::arange(7).flip(0);
  expect_refused("another label in the database");
}

TEST_F(DatabaseOfALoss, IsRefusedByALossThatTakesNone) {
  expect_error<c10::ValueError>(
      [&] { (*make_loss("{name: lifted_structure}"))(input_); },
      "takes no database");
}

TEST_F(DatabaseOfALoss, IsRefusedWithVirtualExamples) {
  input_.mixed = {labels_of({0, 2}).view({1, 2}),
                  torch::full({1}, 0.5, torch::kDouble)};
  expect_refused("within a batch");
}

}  // namespace
}  // namespace kith
