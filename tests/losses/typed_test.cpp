// Losses made from their options in C++ are those made from a configuration.

#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/losses/ap_quantised.h"
#include "kith/losses/circle.h"
#include "kith/losses/contrastive.h"
#include "kith/losses/fast_ap.h"
#include "kith/losses/histogram.h"
#include "kith/losses/lifted.h"
#include "kith/losses/lifted_structure.h"
#include "kith/losses/multi_similarity.h"
#include "kith/losses/nt_xent.h"
#include "kith/losses/recall_at_k.h"
#include "kith/losses/smooth_ap.h"
#include "kith/losses/supcon.h"
#include "kith/losses/triplet_all.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/hostile_rows.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

LossInput some_batch() {
  LossInput input;
  input.embeddings = normalize_rows(random_normal({12, 5}, 1, at::kFloat));
  input.labels = labels_of({0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2});
  return input;
}

void expect_same_loss(const Loss& typed, const std::string& yaml) {
  SCOPED_TRACE(yaml);
  const LossGradient actual = differentiate(typed, some_batch());
  const LossGradient expected = differentiate(*make_loss(yaml), some_batch());
  EXPECT_EQ(actual.value, expected.value);
  EXPECT_TRUE(same_bits(actual.gradient, expected.gradient));
}

TEST(TypedLosses, AreThoseOfConfigurations) {
  expect_same_loss(RecallAtK(), "{name: recall_at_k}");
  expect_same_loss(SmoothAp(), "{name: smooth_ap}");
  expect_same_loss(FastAp(), "{name: fast_ap}");
  expect_same_loss(ApQuantised(), "{name: ap_quantised}");
  expect_same_loss(Histogram(), "{name: histogram}");
  expect_same_loss(NtXent(), "{name: nt_xent}");
  expect_same_loss(Supcon(), "{name: supcon}");
  expect_same_loss(Circle(), "{name: circle}");
  expect_same_loss(MultiSimilarity(), "{name: multi_similarity}");
  expect_same_loss(Lifted(), "{name: lifted}");
  expect_same_loss(LiftedStructure(), "{name: lifted_structure}");
  expect_same_loss(Contrastive(), "{name: contrastive}");
  expect_same_loss(TripletAll(), "{name: triplet_all}");
}

TEST(TypedLosses, HaveTheSameOptions) {
  expect_same_loss(RecallAtK({.k = {1, 3}, .t1 = 2, .t2 = 0.1}),
                   "{name: recall_at_k, k: [1, 3], t1: 2, t2: 0.1}");
  expect_same_loss(SmoothAp({.temperature = 0.1, .query_in_database = true}),
                   "{name: smooth_ap, temperature: 0.1, "
                   "query_in_database: true}");
  expect_same_loss(FastAp({.num_bins = 7, .euclidean = true}),
                   "{name: fast_ap, num_bins: 7, euclidean: true}");
  expect_same_loss(ApQuantised({.num_bins = 9}),
                   "{name: ap_quantised, num_bins: 9}");
  expect_same_loss(Histogram({.bins = 9}), "{name: histogram, bins: 9}");
  expect_same_loss(NtXent({.temperature = 0.5}),
                   "{name: nt_xent, temperature: 0.5}");
  expect_same_loss(Supcon({.temperature = 0.5}),
                   "{name: supcon, temperature: 0.5}");
  expect_same_loss(Circle({.m = 0.3, .gamma = 20, .detach = false}),
                   "{name: circle, m: 0.3, gamma: 20, detach: false}");
  expect_same_loss(
      MultiSimilarity({.alpha = 3, .beta = 20, .mining = false}),
      "{name: multi_similarity, alpha: 3, beta: 20, mining: false}");
  expect_same_loss(Lifted({.neg_margin = 2, .l2 = 0.1, .penalty = "norm"}),
                   "{name: lifted, neg_margin: 2, l2: 0.1, penalty: norm}");
  expect_same_loss(LiftedStructure({.pos_margin = 0.1}),
                   "{name: lifted_structure, pos_margin: 0.1}");
  expect_same_loss(Contrastive({.neg_margin = 1.5, .reduction = "all"}),
                   "{name: contrastive, neg_margin: 1.5, reduction: all}");
  expect_same_loss(TripletAll({.margin = 0.5, .reduction = "all"}),
                   "{name: triplet_all, margin: 0.5, reduction: all}");
}

TEST(TypedLosses, HaveTheOptionsOfRows) {
  expect_same_loss(RecallAtK({.rows = {.engine = {.memory_mb = 1, .block = 3},
                                       .simix = true}}),
                   "{name: recall_at_k, memory_mb: 1, block: 3, simix: true}");
  expect_same_loss(Contrastive({.rows = {.simix = true}}),
                   "{name: contrastive, simix: true}");
}

TEST(TypedLosses, BadOptionsAreNamed) {
  const auto refused = [](const auto& make, const auto&... parts) {
    expect_error<ConfigError>(make, parts...);
  };
  refused([] { RecallAtK({.k = {1, 0}}); }, "recall_at_k.k", "at least 1");
  refused([] { RecallAtK({.t2 = -1}); }, "recall_at_k.t2", "greater than 0");
  refused([] { RecallAtK({.rows = {.engine = {.memory_mb = 0}}}); },
          "recall_at_k.memory_mb");
  refused([] { NtXent({.temperature = 0}); }, "nt_xent.temperature");
  refused([] { Histogram({.bins = 1}); }, "histogram.bins");
  refused([] { Lifted({.penalty = "norms"}); }, "lifted.penalty", "'norm'");
  refused([] { TripletAll({.reduction = "some"}); }, "triplet_all.reduction");
}

TEST(TypedLosses, CheckWhatTheyAreGiven) {
  const LossInput batch = some_batch();
  const RecallAtK loss;
  expect_error<c10::ValueError>(
      [&] {
        loss(batch.embeddings, labels_of({0, 1}));
      },
      "labels", "[12]");
  expect_error<c10::ValueError>(
      [&] { loss(batch.embeddings, batch.labels.to(at::kInt)); }, "labels",
      "int64");
  expect_error<c10::ValueError>(
      [&] { TripletAll()(batch.embeddings.to(at::kHalf), batch.labels); },
      "float32 or float64 [M, D], got Half");
  Tensor spoilt = batch.embeddings.clone();
  spoilt[3][1] = std::numeric_limits<float>::quiet_NaN();
  expect_error<c10::ValueError>([&] { loss(spoilt, batch.labels); }, "row 3",
                                "NaN");
}

/// A loss with a parameter, as one outside of kith would be written.
class Scaled final : public Loss {
 public:
  explicit Scaled(double scale)
      : scale_(register_parameter("scale", torch::full({1}, scale))) {}

 protected:
  LossOutput forward(const LossInput& input) const override {
    return {(input.embeddings * scale_).sum(), {}};
  }

 private:
  Tensor scale_;
};

TEST(TypedLosses, ParametersAreThoseOfAModule) {
  Scaled loss(2);
  const auto named = loss.named_parameters().pairs();
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].first, "scale");
  EXPECT_TRUE(named[0].second.requires_grad());
  const LossInput batch = some_batch();
  loss(batch.embeddings, batch.labels).value.backward();
  EXPECT_NEAR(named[0].second.grad().item<double>(),
              batch.embeddings.sum().item<double>(), 1e-5);
  for (const c10::Device device : test_devices()) {
    loss.to(device);
    EXPECT_EQ(loss.parameters()[0].device().type(), device.type());
    // The value follows the parameter that the caller holds.
    EXPECT_EQ(named[0].second.device().type(), device.type());
    const Tensor value =
        loss(batch.embeddings.to(device), batch.labels.to(device)).value;
    EXPECT_EQ(value.device().type(), device.type());
  }
}

TEST(TypedLosses, LiveWhereverModulesDo) {
  const LossInput batch = some_batch();
  const double value = Supcon()(batch).value.item<double>();
  const std::unique_ptr<Loss> alone = std::make_unique<Supcon>();
  EXPECT_EQ((*alone)(batch).value.item<double>(), value);
  const std::shared_ptr<torch::nn::Module> module = std::make_shared<Supcon>();
  EXPECT_EQ((*module->as<Supcon>())(batch).value.item<double>(), value);
  const Supcon copy = Supcon({.temperature = 0.1});
  EXPECT_EQ(copy(batch).value.item<double>(), value);
}

static_assert(std::is_aggregate_v<RecallAtKOptions>);
static_assert(std::is_aggregate_v<MixedRowOptions>);

}  // namespace
}  // namespace kith
