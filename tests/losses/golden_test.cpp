// The losses against values and gradients, of embeddings and of their own
// parameters, that the published Python codes computed (tests/golden), on every
// CPU level and on a GPU if there is one.

#include "tests/support/torch/golden.h"

#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/losses/loss.h"
#include "tests/support/torch/cpu_levels.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using Json = nlohmann::json;

/// Options by variant ("official", "paper", ...).
using VariantOptions = std::map<std::string, Json>;

/// How a loss of kith computes an item of tests/golden.
struct Recipe {
  std::string item;
  std::string loss;
  Json options = Json::object();  ///< Besides the item's hyper-parameters.
  /// Hyper-parameters that are options of another name; "" if they are none.
  std::map<std::string, std::string> names = {};
  /// The array that holds them; "triplets+fourth" for two side by side.
  std::string tuples = {};
  /// The code behind the item adds 1e-6 to every coordinate of a difference
  /// before it takes the norm, and kith does not: the two functions differ by
  /// about 1e-6 in every distance, so that even a double implementation agrees
  /// only to the tolerance of single.
  bool shifted = false;
  VariantOptions of_variant = {};  ///< Options of these variants only.
  /// Options of the evaluations of these names only.
  VariantOptions of_evaluation = {};
  /// Variants or evaluations that kith does not compute, and why.
  std::map<std::string, std::string> skipped = {};
};

/// The published codes of the ranking losses count the query itself.
VariantOptions counting_the_query() {
  const Json options = {{"query_in_database", true}};
  return {{"official", options}, {"official_style", options}};
}

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {.item = "rsk",
       .loss = "recall_at_k",
       .of_variant = counting_the_query()},
      {.item = "rsk_simix",
       .loss = "recall_at_k",
       .of_variant = counting_the_query()},
      {.item = "smoothap",
       .loss = "smooth_ap",
       .of_variant = counting_the_query()},
      {"fastap", "fast_ap"},
      {"pml_fastap", "fast_ap", {{"euclidean", true}}},
      {"pml_supcon", "supcon"},
      {"pml_ntxent", "nt_xent"},
      {"pml_multisimilarity", "multi_similarity", {{"mining", false}}},
      {"pml_contrastive", "contrastive"},
      {"pml_contrastive", "contrastive_all"},
      {"pml_triplet_margin", "triplet_all"},
      {.item = "pml_angular",
       .loss = "angular_all",
       .names = {{"alpha_deg", "alpha"}},
       .of_evaluation = {{"e", {{"unit_anchors", false}}}}},
      {"pml_margin", "margin_all"},
      {"pml_margin_learn_beta",
       "margin_all",
       {{"learn", true}},
       {{"beta", ""}, {"learn_beta", ""}}},
      {"pml_snr_contrastive", "snr_contrastive"},
      {"pml_circle", "circle"},
      {"pml_lifted_structure", "lifted_structure"},
      {"pml_generalized_lifted", "lifted", {{"l2", 0}}},
      {"pml_npairs", "npairs_all"},
      {"pml_histogram",
       "histogram",
       {{"bins", 101}},  // centres of its 100 intervals
       {{"n_bins", ""}, {"delta", ""}}},
      {"rev_contrastive",
       "contrastive",
       Json::object(),
       {},
       "triplets",
       /*shifted=*/true},
      {"rev_triplet", "triplet", {{"squared", true}}, {}, "triplets"},
      // Its 1e-8 under the root of a distance is within the tolerances.
      {.item = "rev_margin",
       .loss = "margin",
       .names = {{"beta", ""}},  // 1.2 in all cases, or given
       .tuples = "triplets",
       .of_variant = {{"official", {{"count", "triplets"}}},
                      {"pair_count", {{"count", "pairs"}}}}},
      {"rev_snr", "snr", Json::object(), {{"reg_lambda", "reg"}}, "triplets"},
      {.item = "rev_quadruplet",
       .loss = "quadruplet",
       .names = {{"margin_alpha_1", "margin1"}, {"margin_alpha_2", "margin2"}},
       .tuples = "triplets+fourth",
       .skipped = {{"official",
                    "its second term goes over all pairs of a negative and a "
                    "second negative of another tuple"}}},
      {"rev_lifted", "lifted", {{"penalty", "norm"}}},
      {"rev_npair", "npair", {{"penalty", "norm"}}, {{"divide", ""}}, "pairs"},
      {"rev_angular",
       "angular",
       {{"penalty", "norm"}},
       {{"alpha_deg", "alpha"}, {"ang_weight", "lambda"}},
       "pairs"},
      {"rev_multisimilarity",
       "multi_similarity",
       {{"reduction", "anchors"}},
       {{"pos_weight", "alpha"},
        {"neg_weight", "beta"},
        {"margin", "epsilon"},
        {"thresh", "base"}}},
      {"rev_histogram", "histogram", Json::object(), {{"nbins", "bins"}}},
      {"rev_softmax", "norm_softmax"},
      {"pml_normalized_softmax", "norm_softmax"},
      {.item = "rev_arcface",
       .loss = "arcface",
       .names = {{"angular_margin", "margin"}, {"feature_scale", "scale"}},
       .of_variant = {{"official", {{"clamp", true}}}}},
      {"pml_arcface",
       "arcface",
       {{"margin", 28.6 * M_PI / 180}},  // its margin is in degrees
       {{"margin_deg", ""}}},
      {"pml_cosface", "cosface"},
      {"rev_proxynca", "proxy_nca"},
      {"pml_proxy_nca",
       "proxy_nca",
       {{"include_positive", true}},
       {{"softmax_scale", ""}}},  // 1 in all cases
      {"pml_proxy_anchor", "proxy_anchor"},
      {.item = "rev_softtriplet",
       .loss = "soft_triple",
       .names = {{"n_centroids", "centers"},
                 {"margin_delta", "delta"},
                 {"lam", "lambda"},
                 {"reg_weight", "tau"}},
       .skipped = {{"official",
                    "it normalises coordinates instead of vectors, and "
                    "softens the choice of a class instead of a vector"}}},
      {"pml_soft_triple",
       "soft_triple",
       {{"tau", 0}},
       {{"centers_per_class", "centers"},
        {"la", "lambda"},
        {"margin", "delta"}}},
      {.item = "hist",
       .loss = "hist",
       .of_evaluation =
           {{"dist_x", {{"lambda_s", 0}}},
            {"ce_x", {{"lambda_s", 1}, {"ablation", "no_distribution_loss"}}}}},
  };
  return all;
}

/// The loss of an evaluation: hyper-parameters are its options (JSON is YAML).
std::unique_ptr<Loss> loss_of(const Recipe& recipe, const Json& evaluation,
                              const LossContext& context) {
  Json options = recipe.options;
  options["name"] = recipe.loss;
  for (const auto& [key, value] : evaluation.at("hyper").items()) {
    const auto renamed = recipe.names.find(key);
    const std::string name =
        renamed == recipe.names.end() ? key : renamed->second;
    if (!name.empty()) options[name] = value;
  }
  const auto more = recipe.of_variant.find(evaluation.at("variant"));
  if (more != recipe.of_variant.end()) options.update(more->second);
  const auto own = recipe.of_evaluation.find(evaluation.at("name"));
  if (own != recipe.of_evaluation.end()) options.update(own->second);
  return make_loss(options.dump(), context);
}

struct GoldenSubject {
  Recipe recipe;
  GoldenCase golden;
};

void PrintTo(const GoldenSubject& subject, std::ostream* out) {
  *out << subject.golden.item << "/" << subject.golden.name << " by "
       << subject.recipe.loss;
}

std::vector<GoldenSubject> golden_subjects() {
  std::vector<GoldenSubject> all;
  for (const Recipe& recipe : recipes()) {
    for (const GoldenCase& golden : golden_cases(recipe.item)) {
      all.push_back({recipe, golden});
    }
  }
  return all;
}

class GoldenLoss : public ::testing::TestWithParam<GoldenSubject> {
 protected:
  GoldenLoss() : meta_(GetParam().golden.meta()) {
    EXPECT_FALSE(meta_.at("evaluations").empty());
  }

  void check_all(at::ScalarType type, c10::Device device) const {
    for (const Json& evaluation : meta_.at("evaluations")) {
      const auto& skipped = GetParam().recipe.skipped;
      if (skipped.count(evaluation.at("variant")) ||
          skipped.count(evaluation.at("name"))) {
        continue;
      }
      SCOPED_TRACE(evaluation.at("name").get<std::string>() + " in " +
                   c10::toString(type));
      check(evaluation, type, device);
    }
  }

 private:
  Tensor array(const std::string& name) const {
    return GetParam().golden.array(name);
  }

  /// "triplets", or "triplets+fourth": [T, 3] and [T] side by side.
  Tensor tuples(const std::string& names) const {
    std::vector<Tensor> columns;
    std::istringstream list(names);
    for (std::string name; std::getline(list, name, '+');) {
      const Tensor part = array(name);
      columns.push_back(part.dim() == 1 ? part.unsqueeze(1) : part);
    }
    return torch::cat(columns, 1);
  }

  /// The stored parameters that the evaluation has gradients of.
  LossContext context_of(const Json& evaluation, at::ScalarType type,
                         c10::Device device) const {
    LossContext context;
    for (const auto& [name, gradient] : param_grads(evaluation)) {
      context.given.emplace_back(name, array(name).to(device, type));
    }
    return context;
  }

  /// The array of each parameter's gradient.
  static std::map<std::string, std::string> param_grads(
      const Json& evaluation) {
    return evaluation.value("param_grads",
                            std::map<std::string, std::string>());
  }

  LossInput input_of(const Json& evaluation, at::ScalarType type,
                     c10::Device device) const {
    LossInput input;
    input.embeddings = array(evaluation.at("input")).to(device, type);
    input.labels = array("labels").to(device);
    if (!GetParam().recipe.tuples.empty()) {
      input.tuples = tuples(GetParam().recipe.tuples).to(device);
    } else if (meta_.at("arrays").contains("alphas")) {
      input.mixed = {array("pairs"), array("alphas")};
    }
    return input;
  }

  void check(const Json& evaluation, at::ScalarType type,
             c10::Device device) const {
    ASSERT_EQ(evaluation.at("grad_wrt"), evaluation.at("input"));
    const auto loss = loss_of(GetParam().recipe, evaluation,
                              context_of(evaluation, type, device));
    LossInput input = input_of(evaluation, type, device);
    // Codes that divide the batch first: the gradient is that before.
    const double divisor = evaluation.at("hyper").value("divide", 1.0);
    input.embeddings = input.embeddings / divisor;
    // A sentence where a part of the loss normalises for itself.
    LossGradient result = evaluation.at("l2_normalize_input") == true
                              ? differentiate_normalized(*loss, input)
                              : differentiate(*loss, input);
    result.gradient = result.gradient / divisor;
    const bool in_double = type == at::kDouble && !GetParam().recipe.shifted;
    const Json& allowed = evaluation.at(in_double ? "tol64" : "tol32");
    EXPECT_NEAR(result.value, evaluation.at("loss").get<double>(),
                allowed.at("loss_abs").get<double>());
    EXPECT_LE(max_difference(result.gradient, array(evaluation.at("grad"))),
              allowed.at("grad_abs").get<double>());
    check_parameters(*loss, evaluation, allowed);
  }

  void check_parameters(const Loss& loss, const Json& evaluation,
                        const Json& allowed) const {
    std::map<std::string, Tensor> parameters;
    for (const auto& [name, tensor] : loss.named_parameters().pairs()) {
      parameters[name] = tensor;
    }
    for (const auto& [name, gradient] : param_grads(evaluation)) {
      SCOPED_TRACE(name);
      ASSERT_EQ(parameters.count(name), 1u);
      const Tensor& parameter = parameters.at(name);
      const Tensor actual = parameter.grad().defined()
                                ? parameter.grad()
                                : torch::zeros_like(parameter);
      EXPECT_LE(max_difference(actual, array(gradient)),
                allowed.value("grad_" + name + "_abs",
                              allowed.at("grad_abs").get<double>()));
    }
  }

  Json meta_;
};

TEST_P(GoldenLoss, AgreesInBothPrecisionsOnEveryCpuLevel) {
  for_each_cpu_level([&] {
    check_all(at::kDouble, at::kCPU);
    check_all(at::kFloat, at::kCPU);
  });
}

TEST_P(GoldenLoss, CudaAgreesInBothPrecisions) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  check_all(at::kDouble, at::kCUDA);
  check_all(at::kFloat, at::kCUDA);
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenLoss,
                         ::testing::ValuesIn(golden_subjects()),
                         [](const auto& param_info) {
                           const GoldenSubject& subject = param_info.param;
                           return subject.golden.test_name() + "_by_" +
                                  subject.recipe.loss;
                         });

TEST(GoldenLosses, EveryItemHasCases) {
  for (const Recipe& recipe : recipes()) {
    EXPECT_GE(golden_cases(recipe.item).size(), 2u) << recipe.item;
  }
}

/// A variant that is misspelt would silently have no effect.
TEST(GoldenLosses, VariantsOfRecipesExist) {
  for (const Recipe& recipe : recipes()) {
    std::set<std::string> variants;
    std::set<std::string> names;
    for (const GoldenCase& golden : golden_cases(recipe.item)) {
      const Json meta = golden.meta();
      for (const Json& evaluation : meta.at("evaluations")) {
        variants.insert(evaluation.at("variant").get<std::string>());
        names.insert(evaluation.at("name").get<std::string>());
      }
    }
    for (const auto& [name, options] : recipe.of_evaluation) {
      EXPECT_EQ(names.count(name), 1u) << recipe.item << " " << name;
    }
    for (const auto& [variant, options] : recipe.of_variant) {
      EXPECT_EQ(variants.count(variant), 1u) << recipe.item << " " << variant;
    }
    for (const auto& [skipped, reason] : recipe.skipped) {
      const bool variant = variants.count(skipped) > 0;
      EXPECT_TRUE(variant || names.count(skipped)) << recipe.item << skipped;
      EXPECT_GT((variant ? variants : names).size(), 1u)
          << recipe.item << ": nothing is left";
    }
  }
}

/// A folder that no recipe names would silently be left out.
TEST(GoldenLosses, EveryItemHasARecipe) {
  std::set<std::string> with_recipe;
  for (const Recipe& recipe : recipes()) with_recipe.insert(recipe.item);
  for (const std::string& item : golden_items()) {
    // Cases of losses are folders with evaluations.
    const std::vector<GoldenCase> cases = golden_cases(item);
    if (cases.empty() || !cases[0].meta().contains("evaluations")) continue;
    EXPECT_EQ(with_recipe.count(item), 1u) << item;
  }
}

/// What the catalogue says a loss is tested against.
TEST(GoldenLosses, FactsNameTheItemsOfTheRecipes) {
  std::map<std::string, std::set<std::string>> tested;
  for (const Recipe& recipe : recipes()) {
    tested[recipe.loss].insert(recipe.item);
  }
  for (const auto& [name, entry] : loss_registry().entries()) {
    std::set<std::string> named;
    std::istringstream list(entry.facts.golden);
    for (std::string item; std::getline(list >> std::ws, item, ',');) {
      named.insert(item);
    }
    EXPECT_EQ(named, tested[name]) << name;
  }
}

}  // namespace
}  // namespace kith
