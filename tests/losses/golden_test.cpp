// The losses against values and gradients that the published Python codes
// computed (tests/golden).

#include "tests/support/torch/golden.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using Json = nlohmann::json;

/// Items of tests/golden and the losses that compute them.
const std::map<std::string, std::string> kLossOfItem = {
    {"rsk", "recall_at_k"},
    {"pml_contrastive", "contrastive"},
    {"rev_contrastive", "contrastive"}};

std::vector<std::string> items() {
  std::vector<std::string> all;
  for (const auto& [item, loss] : kLossOfItem) all.push_back(item);
  return all;
}

/// The loss of an evaluation: its hyper-parameters are options by the same
/// names (JSON is YAML).
std::unique_ptr<Loss> loss_of(const std::string& item, const Json& evaluation) {
  Json options = evaluation.at("hyper");
  options["name"] = kLossOfItem.at(item);
  if (item == "rsk" && evaluation.at("variant") != "paper") {
    options["query_in_database"] = true;
  }
  return make_loss(options.dump());
}

/// The stored value was computed in double. The code behind rev_contrastive
/// adds 1e-6 to every coordinate of a difference before it takes the norm, and
/// kith does not: the two functions differ by about 1e-6 in every distance, so
/// even a double implementation agrees only to the tolerance of single.
const Json& tolerance(const std::string& item, const Json& evaluation,
                      at::ScalarType type) {
  const bool in_double = type == at::kDouble && item != "rev_contrastive";
  return evaluation.at(in_double ? "tol64" : "tol32");
}

void check(const GoldenCase& golden, const Json& meta, const Json& evaluation,
           at::ScalarType type) {
  SCOPED_TRACE(evaluation.at("name").get<std::string>() + " in " +
               c10::toString(type));
  const std::unique_ptr<Loss> loss = loss_of(golden.item, evaluation);
  LossInput input;
  input.embeddings = golden.array(evaluation.at("input")).to(type);
  input.labels = golden.array("labels");
  if (meta.at("arrays").contains("triplets")) {
    input.tuples = golden.array("triplets");
  }
  ASSERT_EQ(evaluation.at("grad_wrt"), evaluation.at("input"));
  const LossGradient result = evaluation.at("l2_normalize_input").get<bool>()
                                  ? differentiate_normalized(*loss, input)
                                  : differentiate(*loss, input);
  const Json& allowed = tolerance(golden.item, evaluation, type);
  EXPECT_NEAR(result.value, evaluation.at("loss").get<double>(),
              allowed.at("loss_abs").get<double>());
  EXPECT_LE(
      max_difference(result.gradient, golden.array(evaluation.at("grad"))),
      allowed.at("grad_abs").get<double>());
}

class GoldenLoss : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenLoss, ValueAndGradientAgreeInBothPrecisions) {
  const Json meta = GetParam().meta();
  const Json& evaluations = meta.at("evaluations");
  ASSERT_FALSE(evaluations.empty());
  for (const Json& evaluation : evaluations) {
    check(GetParam(), meta, evaluation, at::kDouble);
    check(GetParam(), meta, evaluation, at::kFloat);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenLoss,
                         ::testing::ValuesIn(golden_cases(items())),
                         [](const auto& param_info) {
                           return param_info.param.test_name();
                         });

TEST(GoldenLosses, EveryItemHasCases) {
  for (const std::string& item : items()) {
    EXPECT_GE(golden_cases(item).size(), 2u) << item;
  }
}

}  // namespace
}  // namespace kith
