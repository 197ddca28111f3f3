// The losses against values and gradients that the published Python codes
// computed (tests/golden), on every CPU level and on a GPU if there is one.

#include "tests/support/torch/golden.h"

#include <map>
#include <set>
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

/// How a loss of kith computes an item of tests/golden.
struct Recipe {
  std::string item;
  std::string loss;
  Json options = Json::object();  ///< Besides the item's hyper-parameters.
  /// Hyper-parameters that are options of another name; "" if they are none.
  std::map<std::string, std::string> names = {};
  std::string tuples = {};  ///< The array that holds them.
  /// The code behind the item adds 1e-6 to every coordinate of a difference
  /// before it takes the norm, and kith does not: the two functions differ by
  /// about 1e-6 in every distance, so that even a double implementation agrees
  /// only to the tolerance of single.
  bool shifted = false;
};

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {
      {"rsk", "recall_at_k"},
      {"rsk_simix", "recall_at_k"},
      {"smoothap", "smooth_ap"},
      {"fastap", "fast_ap"},
      {"pml_fastap", "fast_ap", {{"euclidean", true}}},
      {"pml_supcon", "supcon"},
      {"pml_ntxent", "nt_xent"},
      {"pml_multisimilarity", "multi_similarity", {{"mining", false}}},
      {"pml_contrastive", "contrastive"},
      {"pml_contrastive", "contrastive_all"},
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
      {"rev_lifted", "lifted", {{"penalty", "norm"}}},
      {"rev_npair", "npair", {{"penalty", "norm"}}, {{"divide", ""}}, "pairs"},
      {"rev_multisimilarity",
       "multi_similarity",
       {{"reduction", "anchors"}},
       {{"pos_weight", "alpha"},
        {"neg_weight", "beta"},
        {"margin", "epsilon"},
        {"thresh", "base"}}},
      {"rev_histogram", "histogram", Json::object(), {{"nbins", "bins"}}},
  };
  return all;
}

/// The loss of an evaluation: hyper-parameters are its options (JSON is YAML).
/// The published codes of the ranking losses count the query itself.
std::unique_ptr<Loss> loss_of(const Recipe& recipe, const Json& evaluation) {
  static const std::set<std::string> kCountTheQuery = {"rsk", "rsk_simix",
                                                       "smoothap"};
  Json options = recipe.options;
  options["name"] = recipe.loss;
  for (const auto& [key, value] : evaluation.at("hyper").items()) {
    const auto renamed = recipe.names.find(key);
    const std::string name =
        renamed == recipe.names.end() ? key : renamed->second;
    if (!name.empty()) options[name] = value;
  }
  if (kCountTheQuery.count(recipe.item) > 0 &&
      evaluation.at("variant") != "paper") {
    options["query_in_database"] = true;
  }
  return make_loss(options.dump());
}

struct Subject {
  Recipe recipe;
  GoldenCase golden;
};

void PrintTo(const Subject& subject, std::ostream* out) {
  *out << subject.golden.item << "/" << subject.golden.name << " by "
       << subject.recipe.loss;
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const Recipe& recipe : recipes()) {
    for (const GoldenCase& golden : golden_cases(recipe.item)) {
      all.push_back({recipe, golden});
    }
  }
  return all;
}

class GoldenLoss : public ::testing::TestWithParam<Subject> {
 protected:
  GoldenLoss() : meta_(GetParam().golden.meta()) {
    EXPECT_FALSE(meta_.at("evaluations").empty());
  }

  void check_all(at::ScalarType type, c10::Device device) const {
    for (const Json& evaluation : meta_.at("evaluations")) {
      SCOPED_TRACE(evaluation.at("name").get<std::string>() + " in " +
                   c10::toString(type));
      check(evaluation, type, device);
    }
  }

 private:
  Tensor array(const std::string& name) const {
    return GetParam().golden.array(name);
  }

  LossInput input_of(const Json& evaluation, at::ScalarType type,
                     c10::Device device) const {
    LossInput input;
    input.embeddings = array(evaluation.at("input")).to(device, type);
    input.labels = array("labels").to(device);
    const std::string& tuples = GetParam().recipe.tuples;
    if (!tuples.empty()) {
      input.tuples = array(tuples).to(device);
    } else if (meta_.at("arrays").contains("alphas")) {
      input.mixed = {array("pairs"), array("alphas")};
    }
    return input;
  }

  void check(const Json& evaluation, at::ScalarType type,
             c10::Device device) const {
    ASSERT_EQ(evaluation.at("grad_wrt"), evaluation.at("input"));
    const auto loss = loss_of(GetParam().recipe, evaluation);
    LossInput input = input_of(evaluation, type, device);
    // Codes that divide the batch first: the gradient is that before.
    const double divisor = evaluation.at("hyper").value("divide", 1.0);
    input.embeddings = input.embeddings / divisor;
    LossGradient result = evaluation.at("l2_normalize_input").get<bool>()
                              ? differentiate_normalized(*loss, input)
                              : differentiate(*loss, input);
    result.gradient = result.gradient / divisor;
    const bool in_double = type == at::kDouble && !GetParam().recipe.shifted;
    const Json& allowed = evaluation.at(in_double ? "tol64" : "tol32");
    EXPECT_NEAR(result.value, evaluation.at("loss").get<double>(),
                allowed.at("loss_abs").get<double>());
    EXPECT_LE(max_difference(result.gradient, array(evaluation.at("grad"))),
              allowed.at("grad_abs").get<double>());
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

INSTANTIATE_TEST_SUITE_P(Cases, GoldenLoss, ::testing::ValuesIn(subjects()),
                         [](const auto& param_info) {
                           const Subject& subject = param_info.param;
                           return subject.golden.test_name() + "_by_" +
                                  subject.recipe.loss;
                         });

TEST(GoldenLosses, EveryItemHasCases) {
  for (const Recipe& recipe : recipes()) {
    EXPECT_GE(golden_cases(recipe.item).size(), 2u) << recipe.item;
  }
}

/// A folder that no recipe names would silently be left out.
TEST(GoldenLosses, EveryItemHasARecipe) {
  std::set<std::string> with_recipe;
  for (const Recipe& recipe : recipes()) with_recipe.insert(recipe.item);
  for (const std::string& item : golden_items()) {
    if (item.starts_with("metrics_")) continue;
    // Other parts' golden files lie flat; cases of losses are folders.
    if (golden_cases(item).empty()) continue;
    EXPECT_EQ(with_recipe.count(item), 1u) << item;
  }
}

}  // namespace
}  // namespace kith
