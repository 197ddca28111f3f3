// `kith loss`: the published values through the program.

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/io/npy.h"
#include "kith/io/safetensors.h"
#include "tests/cli/golden_files.h"
#include "tests/cli/run_program.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using Json = nlohmann::json;

const std::map<std::string, std::string> kLossOfItem = {
    {"rsk", "recall_at_k"},
    {"rsk_simix", "recall_at_k"},
    {"pml_contrastive", "contrastive"},
    {"rev_contrastive", "contrastive"},
    {"rev_softmax", "norm_softmax"},
    {"pml_cosface", "cosface"},
    {"pml_proxy_anchor", "proxy_anchor"}};

/// The stored parameters of the loss as one file.
void save_params(const std::string& path, const GoldenFiles& golden,
                 const Json& param_grads) {
  std::vector<Array> arrays;
  arrays.reserve(param_grads.size());  // views point into it
  std::vector<std::pair<std::string, ArrayView>> views;
  for (const auto& [name, gradient] : param_grads.items()) {
    views.emplace_back(name, arrays.emplace_back(read_npy(golden.path(name))));
  }
  write_safetensors(path, views);
}

void expect_near(const Array& actual, const Array& expected, double tolerance) {
  ASSERT_EQ(actual.shape, expected.shape);
  const std::vector<double> a = as_doubles(actual);
  const std::vector<double> b = as_doubles(expected);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], tolerance) << "element " << i;
  }
}

std::vector<std::string> arguments_of(const GoldenFiles& golden,
                                      const Json& meta, const Json& evaluation,
                                      const std::string& precision,
                                      const std::string& grad) {
  std::vector<std::string> arguments = {
      "loss",         kLossOfItem.at(golden.item),
      "--embeddings", golden.path(evaluation.at("input")),
      "--labels",     golden.path("labels"),
      "--precision",  precision,
      "--grad",       grad,
      "--threads",    "1",
      "--json"};
  const auto add = [&](const std::string& flag, const std::string& value) {
    arguments.push_back(flag);
    arguments.push_back(value);
  };
  for (const auto& [key, value] : evaluation.at("hyper").items()) {
    add("--set", key + "=" + value.dump());
  }
  if (golden.item.starts_with("rsk") && evaluation.at("variant") != "paper") {
    add("--set", "query_in_database=true");
  }
  if (!evaluation.at("l2_normalize_input").get<bool>()) {
    add("--normalize", "false");
  }
  if (meta.at("arrays").contains("triplets")) {
    add("--tuples", golden.path("triplets"));
  }
  if (meta.at("arrays").contains("alphas")) {
    add("--pairs", golden.path("pairs"));
    add("--alphas", golden.path("alphas"));
  }
  return arguments;
}

void check(const GoldenFiles& golden, const Json& meta, const Json& evaluation,
           const std::string& precision) {
  SCOPED_TRACE(golden.item + "/" + golden.name + " " +
               evaluation.at("name").get<std::string>() + " " + precision);
  const TempDir folder;
  const std::string grad = folder.file("grad.npy");
  std::vector<std::string> arguments =
      arguments_of(golden, meta, evaluation, precision, grad);
  const Json param_grads = evaluation.value("param_grads", Json::object());
  const std::string params = folder.file("params.safetensors");
  const std::string slopes = folder.file("slopes.safetensors");
  if (!param_grads.empty()) {
    save_params(params, golden, param_grads);
    arguments.insert(arguments.end(),
                     {"--params", params, "--param-grads", slopes});
  }
  const ProgramResult result = expect_success(arguments);
  const Json json = Json::parse(result.out);
  // The code behind rev_contrastive adds 1e-6 to every coordinate of a
  // difference, so it is matched to single precision only.
  const bool exact = precision == "float64" && golden.item != "rev_contrastive";
  const Json& allowed = evaluation.at(exact ? "tol64" : "tol32");
  EXPECT_EQ(json.at("precision"), precision);
  EXPECT_EQ(json.at("normalized"), evaluation.at("l2_normalize_input"));
  EXPECT_NEAR(json.at("value").get<double>(),
              evaluation.at("loss").get<double>(),
              allowed.at("loss_abs").get<double>());

  const DType type = precision == "float64" ? DType::kF64 : DType::kF32;
  const Array actual = read_npy(grad);
  EXPECT_EQ(actual.dtype, type);
  expect_near(actual, read_npy(golden.path(evaluation.at("grad"))),
              allowed.at("grad_abs"));
  for (const auto& [name, gradient] : param_grads.items()) {
    EXPECT_EQ(json.at("param_grads"), slopes);
    const Array slope = SafetensorsFile(slopes).read(name);
    EXPECT_EQ(slope.dtype, type);
    expect_near(slope, read_npy(golden.path(gradient)),
                allowed.at("grad_" + name + "_abs"));
  }
}

/// The evaluation of a variant ("paper" or the code's) and an input ("x" not
/// normalised, "e" normalised); the first if the case has no such input.
const Json* pick(const Json& evaluations, bool paper, const std::string& input,
                 bool last) {
  const Json* picked = nullptr;
  const Json* any = nullptr;
  for (const Json& e : evaluations) {
    if ((e.at("variant") == "paper") != paper) continue;
    if (any == nullptr) any = &e;
    if (e.at("input") == input && (picked == nullptr || last)) picked = &e;
  }
  return picked != nullptr ? picked : any;
}

/// Two evaluations of every case: both variants, both inputs, both precisions.
void check_item(const std::string& item) {
  const std::vector<GoldenFiles> cases = golden_files(item);
  EXPECT_GE(cases.size(), 2u);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Json meta = cases[i].meta();
    const Json& all = meta.at("evaluations");
    const bool odd = i % 2 == 1;
    const bool last = i >= 2;
    const Json* code = pick(all, false, odd ? "x" : "e", last);
    const Json* paper = pick(all, true, odd ? "e" : "x", last);
    ASSERT_TRUE(code != nullptr || paper != nullptr);
    if (code != nullptr) check(cases[i], meta, *code, "float64");
    if (paper != nullptr) check(cases[i], meta, *paper, "float32");
    if (code == nullptr) check(cases[i], meta, all.back(), "float64");
    if (paper == nullptr) {
      check(cases[i], meta, *pick(all, false, odd ? "e" : "x", true),
            "float32");
    }
  }
}

TEST(LossCommand, AgreesWithThePublishedRecallAtK) { check_item("rsk"); }

TEST(LossCommand, AgreesWithThePublishedSimilarityMixup) {
  check_item("rsk_simix");
}

TEST(LossCommand, AgreesWithContrastiveOnAllPairs) {
  check_item("pml_contrastive");
}

TEST(LossCommand, AgreesWithContrastiveOnGivenTriplets) {
  check_item("rev_contrastive");
}

/// Parameters by the names and in the layouts of three codes.
TEST(LossCommand, AgreesWithLossesThatHaveParameters) {
  check_item("rev_softmax");
  check_item("pml_cosface");
  check_item("pml_proxy_anchor");
}

}  // namespace
}  // namespace kith
