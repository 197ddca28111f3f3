#include "kith/train/objective.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/miners/batch_hard.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

Objective make(const std::vector<std::string>& changes) {
  return Objective(tiny_config(changes), {4, 3, 0}, c10::kCPU);
}

ObjectiveInput batch(uint64_t seed) {
  ObjectiveInput input;
  input.embeddings = normalize_rows(random_normal({8, 3}, seed));
  input.labels = labels_of({0, 1, 2, 3, 0, 1, 2, 3});
  return input;
}

double value(const Objective& objective, const ObjectiveInput& input) {
  return objective.compute(input).value.item<double>();
}

TEST(Objective, IsTheLoss) {
  const auto loss = make_loss("{name: recall_at_k, k: [1, 2]}");
  const ObjectiveInput input = batch(1);
  EXPECT_EQ(value(make({}), input),
            (*loss)(input.embeddings, input.labels).value.item<double>());
}

TEST(Objective, MemoryIsUsedOnceItIsFilledAndTheEpochHasCome) {
  Objective plain = make({});
  Objective objective = make({"train.memory=16", "train.memory_after=1"});
  ObjectiveInput input = batch(1);
  EXPECT_EQ(value(objective, input), value(plain, input));
  objective.remember(batch(2));
  EXPECT_EQ(value(objective, input), value(plain, input));  // epoch 0
  input.epoch = 1;
  EXPECT_NE(value(objective, input), value(plain, input));
  // The memory as a database of the loss itself.
  const ObjectiveInput old = batch(2);
  LossInput direct{input.embeddings, input.labels, {}};
  direct.database.embeddings = torch::cat(
      {input.embeddings, old.embeddings.to(at::kFloat).to(at::kDouble)});
  direct.database.labels = torch::cat({input.labels, old.labels});
  direct.database.self = torch::arange(8);
  EXPECT_EQ(value(objective, input), plain.loss()(direct).value.item<double>());
}

// Lengths say nothing about which negatives are near.
TEST(Objective, MinesByUnitVectorsForALossOnAnyEmbeddings) {
  const Objective objective =
      make({"loss={name: npair, l2: 0}", "miner={name: batch_hard}"});
  ObjectiveInput input = batch(1);
  input.embeddings = input.embeddings * torch::linspace(0.1, 9, 8).unsqueeze(1);
  Rng rng(0, Stream::kMiner, {0, 0});
  const Tensor tuples =
      BatchHardMiner()(normalize_rows(input.embeddings), input.labels, rng);
  EXPECT_EQ(value(objective, input),
            objective.loss()({input.embeddings, input.labels, tuples})
                .value.item<double>());
}

TEST(Objective, MixedLabelsShareTheLoss) {
  const Objective objective = make({});
  ObjectiveInput mixed = batch(1);
  mixed.other_labels = labels_of({3, 2, 2, 0, 1, 1, 0, 3});
  mixed.share = 0.3;
  ObjectiveInput other = batch(1);
  other.labels = mixed.other_labels;
  EXPECT_NEAR(value(objective, mixed),
              0.3 * value(objective, batch(1)) + 0.7 * value(objective, other),
              1e-12);
  mixed.other_labels = mixed.labels;  // partners of the same class
  EXPECT_NEAR(value(objective, mixed), value(objective, batch(1)), 1e-12);
}

TEST(Objective, TuplesAreDrawnBySeedEpochAndStep) {
  const Objective objective =
      make({"loss={name: triplet, margin: 5}", "miner={name: random}"});
  ObjectiveInput input = batch(1);
  EXPECT_EQ(value(objective, input), value(objective, input));
  const double first = value(objective, input);
  input.step_in_epoch = 1;
  EXPECT_NE(value(objective, input), first);
}

TEST(Objective, LossesOnTuplesHaveTheMinerTheyArePublishedWith) {
  const RunConfig config = tiny_config({"loss={name: margin}"});
  EXPECT_EQ(config.section("miner").find("name")->scalar, "distance_weighted");
  EXPECT_TRUE(tiny_config({}).section("miner").entries.empty());
}

TEST(Objective, SnrIsRegularisedAsPublished) {
  const auto reg = [](const std::vector<std::string>& changes) {
    return tiny_config(changes).section("loss").find("reg")->scalar;
  };
  EXPECT_EQ(reg({"loss={name: snr}"}), "0");
  EXPECT_EQ(reg({"loss={name: snr}", "miner={name: rho_distance}"}), "0");
  EXPECT_EQ(reg({"loss={name: snr}", "miner={name: random}"}), "0.005");
  EXPECT_EQ(reg({"loss={name: snr, reg: 0.01}"}), "0.01");
}

/// R-contrastive, R-triplet, R-margin and R-SNR: where the anchor is its own
/// positive and a positive the negative, a step pushes positives apart.
TEST(Objective, RhoRegularisationPushesPositivesApart) {
  ObjectiveInput input = batch(1);
  const Tensor centres =
      normalize_rows(random_normal({4, 3}, 2)).repeat({2, 1});
  const Tensor start =
      normalize_rows(centres + 0.02 * random_normal({8, 3}, 3));
  const auto spread = [&](const Tensor& x) {
    return (all_distances(x) * positive_mask(input.labels))
        .sum()
        .item<double>();
  };
  for (const std::string name : {"contrastive", "triplet", "margin", "snr"}) {
    SCOPED_TRACE(name);
    const Objective objective =
        make({"loss={name: " + name + "}",
              "miner={name: rho_distance, p_switch: 1}"});
    input.embeddings = start.clone().requires_grad_();
    objective.compute(input).value.backward();
    const Tensor gradient = input.embeddings.grad();
    EXPECT_GT(gradient.norm().item<double>(), 0);
    EXPECT_GT(spread(start - 1e-3 * gradient), spread(start));
  }
}

/// sum_d L(x_d / |x_d|), of embeddings of three numbers.
TEST(Objective, NestedSizesAddUp) {
  const std::vector<std::string> nested = {"model.head.dim=3",
                                           "model.head.nested=[2]"};
  const auto with = [&](std::vector<std::string> changes) {
    changes.insert(changes.begin(), nested.begin(), nested.end());
    return changes;
  };
  const auto cut = [](ObjectiveInput input) {
    input.embeddings = normalize_rows(input.embeddings.slice(1, 0, 2));
    return input;
  };
  const ObjectiveInput input = batch(1);
  for (const std::vector<std::string>& changes :
       std::vector<std::vector<std::string>>{{}, {"loss.simix=true"}}) {
    const Objective plain = make(changes);
    EXPECT_NEAR(value(make(with(changes)), input),
                value(plain, input) + value(plain, cut(input)), 1e-12);
  }
  ObjectiveInput mixed = input;
  mixed.other_labels = labels_of({3, 2, 2, 0, 1, 1, 0, 3});
  mixed.share = 0.3;
  EXPECT_NEAR(value(make(with({})), mixed),
              value(make({}), mixed) + value(make({}), cut(mixed)), 1e-12);
  // The memory holds whole embeddings.
  Objective remembers = make(with({"train.memory=16"}));
  Objective plain = make({"train.memory=16"});
  Objective small(tiny_config({"train.memory=16"}), {4, 2, 0}, c10::kCPU);
  const ObjectiveInput old = batch(2);
  remembers.remember(old);
  plain.remember(old);
  small.remember(cut(old));
  EXPECT_NEAR(value(remembers, input),
              value(plain, input) + value(small, cut(input)), 1e-6);
}

/// All sizes learn from the tuples that are mined by whole embeddings.
TEST(Objective, NestedSizesShareTheirTuples) {
  const Objective objective =
      make({"model.head.dim=3", "model.head.nested=[2]", "loss={name: triplet}",
            "miner={name: batch_hard}"});
  const ObjectiveInput input = batch(1);
  Rng rng(0, Stream::kMiner, {0, 0});
  const Tensor tuples = BatchHardMiner()(input.embeddings, input.labels, rng);
  const auto triplet = make_loss("{name: triplet}");
  const Tensor cut = normalize_rows(input.embeddings.slice(1, 0, 2));
  const auto loss_of = [&](const Tensor& x) {
    return (*triplet)({x, input.labels, tuples}).value.item<double>();
  };
  EXPECT_NEAR(value(objective, input), loss_of(input.embeddings) + loss_of(cut),
              1e-12);
}

TEST(Objective, NestedSizesHaveParametersOfTheirOwn) {
  const Objective objective = make({"model.head.dim=3", "model.head.nested=[2]",
                                    "loss={name: proxy_anchor}"});
  std::vector<std::string> names;
  for (const auto& [name, tensor] : objective.parameters()) {
    names.push_back(name);
    EXPECT_EQ(tensor.size(1), name == "loss.2.proxies" ? 2 : 3);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"loss.2.proxies", "loss.3.proxies"}));
}

TEST(Objective, PartsMustFitTogether) {
  expect_error<ConfigError>([] { make({"miner={name: random}"}); },
                            "recall_at_k uses the whole batch");
  expect_error<ConfigError>(
      [] {
        make({"loss={name: triplet}", "miner={name: multi_similarity}"});
      },
      "gives pairs, but the loss triplet takes triplets");
  expect_error<ConfigError>(
      [] {
        make({"loss={name: triplet}", "train.memory=10"});
      },
      "'train.memory' is for losses on rows");
  expect_error<ConfigError>(
      [] {
        make({"loss.simix=true", "train.memory=10"});
      },
      "'loss.simix'");
  expect_error<ConfigError>(
      [] {
        make({"train.mixup=2", "train.memory=10"});
      },
      "'train.mixup'");
}

}  // namespace
}  // namespace kith
