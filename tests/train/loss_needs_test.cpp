#include "kith/train/loss_needs.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/losses/unit_embeddings.h"
#include "kith/train/objective.h"
#include "tests/support/expect_error.h"
#include "tests/support/log_capture.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// On embeddings as they are (docs/objectives.md); the others on unit vectors.
const std::set<std::string> kRaw = {"angular", "angular_all", "hist", "lifted",
                                    "npair"};

/// Those with vectors or distributions of classes.
const std::set<std::string> kWithoutPositives = {
    "arcface",   "cosface",      "hist",         "norm_softmax",
    "proxy_nca", "proxy_nca_pp", "proxy_anchor", "soft_triple"};

RunConfig complete_for(const std::string& sections) {
  return complete_config(
      parse_config("data: {name: glyphs}\n" + sections, "run.yaml"));
}

std::unique_ptr<Loss> loss_of(const RunConfig& config) {
  return example_loss(config.section("loss"));
}

std::string l2_of(const RunConfig& config) {
  return config.section("model").find("head")->find("l2")->scalar;
}

void check(const RunConfig& config) {
  check_loss_needs(config, *loss_of(config));
}

TEST(UnitEmbeddings, AreGivenWhereTheLossIsDefinedOnThem) {
  for (const std::string& name : loss_registry().names()) {
    SCOPED_TRACE(name);
    const auto loss = loss_of(complete_for("loss: {name: " + name + "}"));
    EXPECT_EQ(loss->wants_unit(), kRaw.count(name) == 0);
    EXPECT_EQ(takes_unit(*loss), kRaw.count(name) == 0);
    EXPECT_TRUE(takes_unit(*loss, true));
    EXPECT_FALSE(takes_unit(*loss, false));
  }
}

TEST(LossNeeds, TheHeadGivesWhatTheLossIsDefinedOn) {
  for (const std::string& name : loss_registry().names()) {
    SCOPED_TRACE(name);
    const LogCapture log;
    const RunConfig config = complete_for("loss: {name: " + name + "}");
    EXPECT_EQ(l2_of(config), kRaw.count(name) == 0 ? "true" : "false");
    check(config);
    EXPECT_THAT(log.warnings(), IsEmpty());
    if (kRaw.count(name) == 0) {
      EXPECT_THAT(log.notes(), IsEmpty());
    } else {
      EXPECT_THAT(log.notes(),
                  ElementsAre(AllOf(HasSubstr(name),
                                    HasSubstr("model.head.l2 is false"))));
    }
  }
}

TEST(LossNeeds, OtherOptionsOfTheHeadDoNotMatter) {
  EXPECT_EQ(l2_of(complete_for("loss: {name: npair}\nmodel: {head: {dim: 8}}")),
            "false");
  EXPECT_EQ(l2_of(complete_for("loss: {name: npair}\nmodel:\n")), "false");
  EXPECT_EQ(l2_of(complete_for("model: {head: {dim: 8}}")), "true");
}

TEST(LossNeeds, UnitVectorsForALossThatTakesAnyAreAWarning) {
  const LogCapture log;
  const RunConfig config =
      complete_for("loss: {name: npair}\nmodel: {head: {l2: true}}");
  EXPECT_EQ(l2_of(config), "true");
  check(config);
  EXPECT_THAT(log.warnings(),
              ElementsAre(AllOf(HasSubstr("npair"), HasSubstr("any length"),
                                HasSubstr("model.head.l2"))));
}

TEST(LossNeeds, ALossOnUnitVectorsRefusesOthers) {
  for (const std::string& name : loss_registry().names()) {
    SCOPED_TRACE(name);
    const RunConfig config = complete_for(
        "loss: {name: " + name + "}\nmodel:\n  head:\n    l2: false\n");
    if (kRaw.count(name) > 0) {
      check(config);
    } else {
      expect_error<ConfigError>([&] { check(config); },
                                "run.yaml:5: the loss " + name, "unit vectors",
                                "'model.head.l2'", "true");
    }
  }
}

TEST(LossNeeds, OneImageAClassIsRefusedWherePositivesAreNeeded) {
  for (const std::string& name : loss_registry().names()) {
    SCOPED_TRACE(name);
    const std::string loss = "loss: {name: " + name + "}\n";
    const RunConfig config = complete_for(loss + "sampler:\n  per_class: 1\n");
    if (kWithoutPositives.count(name) > 0) {
      check(config);
    } else {
      expect_error<ConfigError>(
          [&] { check(config); }, "run.yaml:4: the loss " + name,
          "'sampler.per_class' = 1", "2 or more", "sampler.name: uniform");
    }
    check(complete_for(loss + "sampler: {per_class: 2}"));
    check(complete_for(loss + "sampler: {name: uniform}"));
  }
}

TEST(LossNeeds, AMemoryHasPositives) {
  check(complete_for("sampler: {per_class: 1}\ntrain: {memory: 100}"));
}

TEST(LossNeeds, AreCheckedWithTheObjective) {
  expect_error<ConfigError>(
      [] {
        Objective(tiny_config({"sampler.per_class=1"}), {4, 3, 0}, c10::kCPU);
      },
      "override sampler.per_class=1: ", "recall_at_k");
  expect_error<ConfigError>(
      [] {
        Objective(tiny_config({"model.head.l2=false"}), {4, 3, 0}, c10::kCPU);
      },
      "override model.head.l2=false: ", "recall_at_k", "unit vectors");
}

}  // namespace
}  // namespace kith
