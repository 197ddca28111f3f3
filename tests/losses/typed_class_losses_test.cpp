// Losses with class vectors or on tuples, made in C++ and from YAML: the same
// options, the same values, gradients and parameters to the bit.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/losses/angular.h"
#include "kith/losses/angular_all.h"
#include "kith/losses/arcface.h"
#include "kith/losses/cosface.h"
#include "kith/losses/hist.h"
#include "kith/losses/margin.h"
#include "kith/losses/margin_all.h"
#include "kith/losses/norm_softmax.h"
#include "kith/losses/npair.h"
#include "kith/losses/npairs_all.h"
#include "kith/losses/proxy_anchor.h"
#include "kith/losses/proxy_nca.h"
#include "kith/losses/proxy_nca_pp.h"
#include "kith/losses/quadruplet.h"
#include "kith/losses/snr.h"
#include "kith/losses/snr_contrastive.h"
#include "kith/losses/soft_triple.h"
#include "kith/losses/triplet.h"
#include "kith/miners/random.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

const LossContext kFourClasses = {.classes = 4, .dim = 6, .seed = 3};

/// A loss as C++ and as YAML makes it.
struct TypedLoss {
  std::string yaml;
  std::shared_ptr<Loss> loss;
};

template <class Type>
TypedLoss typed_loss(const std::string& yaml, typename Type::Options options) {
  if constexpr (std::is_constructible_v<Type, typename Type::Options,
                                        const LossContext&>) {
    return {yaml, std::make_shared<Type>(std::move(options), kFourClasses)};
  } else {
    return {yaml, std::make_shared<Type>(std::move(options))};
  }
}

std::vector<TypedLoss> typed_losses() {
  return {
      typed_loss<Angular>("{name: angular}", {}),
      typed_loss<Angular>("{name: angular, alpha: 50, lambda: 3, l2: 0.01, "
                          "penalty: norm, block: 3}",
                          {.alpha = 50,
                           .lambda = 3,
                           .l2 = 0.01,
                           .penalty = "norm",
                           .rows = {.block = 3}}),
      typed_loss<AngularAll>("{name: angular_all}", {}),
      typed_loss<AngularAll>(
          "{name: angular_all, alpha: 50, unit_anchors: false}",
          {.alpha = 50, .unit_anchors = false}),
      typed_loss<ArcFace>("{name: arcface}", {}),
      typed_loss<ArcFace>(
          "{name: arcface, scale: 8, margin: 0.3, clamp: true, lr: 0.1}",
          {.scale = 8, .margin = 0.3, .clamp = true, .training = {.lr = 0.1}}),
      typed_loss<CosFace>("{name: cosface}", {}),
      typed_loss<CosFace>("{name: cosface, scale: 8, margin: 0.3}",
                          {.scale = 8, .margin = 0.3}),
      typed_loss<Hist>("{name: hist}", {}),
      typed_loss<Hist>("{name: hist, tau: 8, hidden: 16, ablation: proxies}",
                       {.tau = 8, .hidden = 16, .ablation = "proxies"}),
      typed_loss<Margin>("{name: margin}", {}),
      typed_loss<Margin>("{name: margin, margin: 0.3, beta: 0.6, "
                         "beta_per_class: true, lr: 0.1, nu: 0.2, count: "
                         "triplets}",
                         {.margin = 0.3,
                          .beta = 0.6,
                          .beta_per_class = true,
                          .lr = 0.1,
                          .nu = 0.2,
                          .count = "triplets"}),
      typed_loss<MarginAll>("{name: margin_all}", {}),
      typed_loss<MarginAll>("{name: margin_all, learn: true, decay: true}",
                            {.learn = true, .decay = true}),
      typed_loss<NormSoftmax>("{name: norm_softmax}", {}),
      typed_loss<NormSoftmax>("{name: norm_softmax, temperature: 0.2}",
                              {.temperature = 0.2}),
      typed_loss<Npair>("{name: npair}", {}),
      typed_loss<Npair>("{name: npair, l2: 0.1, penalty: norm}",
                        {.l2 = 0.1, .penalty = "norm"}),
      typed_loss<NpairsAll>("{name: npairs_all}", {}),
      typed_loss<ProxyAnchor>("{name: proxy_anchor}", {}),
      typed_loss<ProxyAnchor>("{name: proxy_anchor, alpha: 16, margin: 0.2}",
                              {.alpha = 16, .margin = 0.2}),
      typed_loss<ProxyNca>("{name: proxy_nca}", {}),
      typed_loss<ProxyNca>(
          "{name: proxy_nca, scale: 3, include_positive: true}",
          {.scale = 3, .include_positive = true}),
      typed_loss<ProxyNcaPp>("{name: proxy_nca_pp}", {}),
      typed_loss<ProxyNcaPp>("{name: proxy_nca_pp, temperature: 0.3}",
                             {.temperature = 0.3}),
      typed_loss<Quadruplet>("{name: quadruplet}", {}),
      typed_loss<Quadruplet>(
          "{name: quadruplet, margin1: 0.7, margin2: 0.3, reduction: active}",
          {.margin1 = 0.7, .margin2 = 0.3, .reduction = "active"}),
      typed_loss<Snr>("{name: snr}", {}),
      typed_loss<Snr>("{name: snr, margin: 0.4, reg: 0.1, reduction: all}",
                      {.margin = 0.4, .reg = 0.1, .reduction = "all"}),
      typed_loss<SnrContrastive>("{name: snr_contrastive}", {}),
      typed_loss<SnrContrastive>(
          "{name: snr_contrastive, pos_margin: 0.1, neg_margin: 0.8}",
          {.pos_margin = 0.1, .neg_margin = 0.8}),
      typed_loss<SoftTriple>("{name: soft_triple}", {}),
      typed_loss<SoftTriple>("{name: soft_triple, centers: 3, lambda: 4, "
                             "gamma: 0.2, delta: 0.1, tau: 0.4, decay: true, "
                             "lr: 0.01}",
                             {.centers = 3,
                              .lambda = 4,
                              .gamma = 0.2,
                              .delta = 0.1,
                              .tau = 0.4,
                              .training = {.lr = 0.01, .decay = true}}),
      typed_loss<Triplet>("{name: triplet}", {}),
      typed_loss<Triplet>(
          "{name: triplet, margin: 0.4, squared: true, reduction: active}",
          {.margin = 0.4, .squared = true, .reduction = "active"}),
  };
}

TEST(TypedClassLosses, AreThoseOfConfigurations) {
  LossInput input;
  input.embeddings = normalize_rows(random_normal({12, 6}, 1, at::kFloat));
  input.labels = labels_of({0, 1, 2, 0, 1, 2, 0, 1, 3, 0, 1, 3});
  input.seed = 5;
  const Tensor triplets = RandomMiner()(input.embeddings, input.labels);
  for (const TypedLoss& typed : typed_losses()) {
    SCOPED_TRACE(typed.yaml);
    const auto other = make_loss(typed.yaml, kFourClasses);
    input.tuples = other->tuple_widths().empty() ? Tensor() : triplets;
    const LossGradient actual = differentiate(*typed.loss, input);
    const LossGradient expected = differentiate(*other, input);
    EXPECT_EQ(actual.value, expected.value);
    EXPECT_TRUE(same_bits(actual.gradient, expected.gradient));
    EXPECT_EQ(typed.loss->classes(), other->classes());
    EXPECT_EQ(typed.loss->decays_parameters(), other->decays_parameters());
    const NamedTensors mine = typed.loss->named_parameters().pairs();
    const NamedTensors theirs = other->named_parameters().pairs();
    ASSERT_EQ(mine.size(), theirs.size());
    for (size_t i = 0; i < mine.size(); ++i) {
      const std::string& name = theirs[i].first;
      EXPECT_EQ(mine[i].first, name);
      EXPECT_TRUE(same_bits(mine[i].second, theirs[i].second)) << name;
      EXPECT_EQ(typed.loss->parameter_lr(name), other->parameter_lr(name));
    }
  }
}

TEST(TypedClassLosses, BadOptionsAreNamed) {
  expect_error<ConfigError>([] { ArcFace({.scale = 0}, kFourClasses); },
                            "arcface.scale", "greater than 0");
  expect_error<ConfigError>([] { SoftTriple({.centers = 0}, kFourClasses); },
                            "soft_triple.centers");
  expect_error<ConfigError>(
      [] { ProxyNca({.training = {.lr = -1}}, kFourClasses); }, "proxy_nca.lr");
  expect_error<ConfigError>([] { Hist({.ablation = "most"}, kFourClasses); },
                            "hist.ablation", "baseline");
  expect_error<ConfigError>([] { Triplet({.reduction = "some"}); },
                            "triplet.reduction");
  expect_error<ConfigError>([] { Npair({.rows = {.memory_mb = 0}}); },
                            "npair.memory_mb");
}

}  // namespace
}  // namespace kith
