// `kith loss`: the published values through the program, and what it says to
// wrong input.

#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/npy.h"
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
    {"rev_contrastive", "contrastive"}};

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
  const ProgramResult result =
      expect_success(arguments_of(golden, meta, evaluation, precision, grad));
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

  const Array expected = read_npy(golden.path(evaluation.at("grad")));
  const Array actual = read_npy(grad);
  ASSERT_EQ(actual.shape, expected.shape);
  EXPECT_EQ(actual.dtype, precision == "float64" ? DType::kF64 : DType::kF32);
  const std::vector<double> a = as_doubles(actual);
  const std::vector<double> b = as_doubles(expected);
  const double tolerance = allowed.at("grad_abs");
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], tolerance) << "element " << i;
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

/// Four classes of two points in the plane, as files.
class LossCommandInput : public ::testing::Test {
 protected:
  void SetUp() override {
    Array points = make_array(DType::kF32, {8, 2});
    for (size_t i = 0; i < 16; ++i) {
      points.values<float>()[i] = static_cast<float>(i * i % 7) - 2.5F;
    }
    embeddings_ = save("e.npy", points);
    Array labels = make_array(DType::kI64, {8});
    for (size_t i = 0; i < 8; ++i) {
      labels.values<int64_t>()[i] = static_cast<int64_t>(i / 2);
    }
    labels_ = save("y.npy", labels);
    points.values<float>()[7] = std::numeric_limits<float>::quiet_NaN();
    nan_ = save("nan.npy", points);
  }

  std::string save(const std::string& name, const Array& array) {
    write_npy(folder_.file(name), array);
    return folder_.file(name);
  }

  void refuse(int exit_code, const std::string& loss, std::string embeddings,
              std::string labels, const std::vector<std::string>& more,
              const std::vector<std::string_view>& parts) {
    std::vector<std::string> arguments = {
        "loss", loss, "--embeddings", embeddings, "--labels", labels};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_failure(exit_code, arguments, parts);
  }

  TempDir folder_;
  std::string embeddings_;
  std::string labels_;
  std::string nan_;
};

TEST_F(LossCommandInput, WrongUsageIsRefused) {
  const auto refused = [&](const std::string& loss,
                           const std::vector<std::string>& more,
                           const std::vector<std::string_view>& parts) {
    refuse(2, loss, embeddings_, labels_, more, parts);
  };
  refused("recal_at_k", {}, {"recal_at_k", "did you mean 'recall_at_k'?"});
  refused("recall_at_k", {"--set", "query_in_databse=true"},
          {"--set", "query_in_databse", "did you mean 'query_in_database'?"});
  refused("recall_at_k", {"--set", "t2=cold"}, {"loss.t2", "float", "'cold'"});
  refused("contrastive", {"--normalise", "false"},
          {"unknown option '--normalise'", "did you mean '--normalize'?",
           "kith loss --help"});
  refused("contrastive", {"--precision", "float16"},
          {"--precision", "float16", "did you mean 'float"});
  refused("recall_at_k", {"--tuples", labels_},
          {"--tuples", "recall_at_k", "whole batch"});
}

TEST_F(LossCommandInput, WrongLabelsAreRefused) {
  const std::string floats = save("floats.npy", make_array(DType::kF32, {8}));
  const std::string few = save("few.npy", make_array(DType::kI64, {7}));
  refuse(1, "contrastive", embeddings_, floats, {},
         {floats, "labels must be integers"});
  refuse(1, "contrastive", embeddings_, few, {},
         {few, "7 labels for 8 embeddings"});
}

TEST_F(LossCommandInput, WrongEmbeddingsAreRefused) {
  refuse(1, "contrastive", nan_, labels_, {}, {nan_, "row 3", "NaN"});
  const std::string missing = folder_.file("missing.npy");
  refuse(1, "contrastive", missing, labels_, {},
         {missing, "No such file or directory"});
  const std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (400000000000, 2)}\n";
  const std::string lying =
      folder_.write("lying.npy", std::string("\x93NUMPY\x01\x00", 8) +
                                     static_cast<char>(header.size()) + '\0' +
                                     header + std::string(64, '\0'));
  refuse(1, "contrastive", lying, labels_, {},
         {lying, "400000000000", "64 bytes"});
}

TEST_F(LossCommandInput, WrongTuplesAreRefused) {
  Array triplet = make_array(DType::kI64, {1, 3});
  triplet.values<int64_t>()[2] = 8;
  const std::string outside = save("outside.npy", triplet);
  refuse(1, "contrastive", embeddings_, labels_, {"--tuples", outside},
         {outside, "positions 0 to 8", "0 to 7"});
  const std::string wide = save("wide.npy", make_array(DType::kI64, {1, 4}));
  refuse(1, "contrastive", embeddings_, labels_, {"--tuples", wide},
         {wide, "2 or 3 columns"});
  refuse(1, "contrastive", embeddings_, labels_, {"--tuples", embeddings_},
         {embeddings_, "integers"});
}

TEST_F(LossCommandInput, DrawnAlphasBelongToTheSeed) {
  const auto value = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "loss",     "recall_at_k", "--embeddings", embeddings_,
        "--labels", labels_,       "--set",        "simix=true",
        "--set",    "k=[1,2]",     "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Json json = Json::parse(expect_success(arguments).out);
    // 8 points and 4 virtual ones.
    EXPECT_EQ(json.at("stats").at("queries"), 12);
    return json.at("value").get<double>();
  };
  const double first = value({"--seed", "1"});
  EXPECT_EQ(value({"--seed", "1"}), first);
  EXPECT_NE(value({"--seed", "2"}), first);
  EXPECT_EQ(value({"--seed", "0"}), value({}));
  refuse(2, "recall_at_k", embeddings_, labels_, {"--seed", "-1"}, {"--seed"});
}

TEST_F(LossCommandInput, WrongPairsAreRefused) {
  Array pair = make_array(DType::kI64, {1, 2});
  pair.values<int64_t>()[1] = 1;
  const std::string pairs = save("pairs.npy", pair);
  const std::string alphas = save("alphas.npy", make_array(DType::kF32, {1}));
  const auto refused = [&](int exit_code, const std::string& loss,
                           const std::vector<std::string>& more,
                           const std::vector<std::string_view>& parts) {
    refuse(exit_code, loss, embeddings_, labels_, more, parts);
  };
  expect_success({"loss", "recall_at_k", "--embeddings", embeddings_,
                  "--labels", labels_, "--pairs", pairs, "--alphas", alphas});
  refused(2, "recall_at_k", {"--pairs", pairs},
          {"--pairs", "--alphas", "together"});
  refused(2, "recall_at_k", {"--alphas", alphas},
          {"--pairs", "--alphas", "together"});
  refused(2, "contrastive", {"--pairs", pairs, "--alphas", alphas},
          {"--pairs", "contrastive", "no virtual examples"});
  refused(1, "recall_at_k", {"--pairs", alphas, "--alphas", alphas},
          {alphas, "integers [V, 2]"});
  refused(1, "recall_at_k", {"--pairs", labels_, "--alphas", alphas},
          {labels_, "[V, 2]"});
  const std::string two = save("two.npy", make_array(DType::kF32, {2}));
  refused(1, "recall_at_k", {"--pairs", pairs, "--alphas", two},
          {"alphas", "[1]"});
  pair.values<int64_t>()[1] = 2;
  const std::string classes = save("classes.npy", pair);
  refused(1, "recall_at_k", {"--pairs", classes, "--alphas", alphas},
          {classes, "pair 0", "two classes"});
  pair.values<int64_t>()[1] = 8;
  const std::string outside = save("outside.npy", pair);
  refused(1, "recall_at_k", {"--pairs", outside, "--alphas", alphas},
          {outside, "positions 0 to 8", "0 to 7"});
}

TEST_F(LossCommandInput, TooManyVirtualExamplesAreRefused) {
  refuse(1, "recall_at_k", embeddings_, labels_,
         {"--set", "simix=true", "--set", "simix_limit=3"},
         {"simix_limit (3)", "class 3 has 2 examples", "sampler.per_class"});
}

/// KITH_CPU chooses the instructions of the kernels.
TEST_F(LossCommandInput, CpuLevelIsAVariableOfTheEnvironment) {
  const auto run = [&](const std::string& level) {
    return run_program({"/usr/bin/env", "KITH_CPU=" + level, KITH_PROGRAM,
                        "loss", "recall_at_k", "--embeddings", embeddings_,
                        "--labels", labels_});
  };
  EXPECT_EQ(run("plain").exit_code, 0);
  const ProgramResult wrong = run("avx9");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("kith: KITH_CPU is 'avx9'"), std::string::npos)
      << wrong.err;
  EXPECT_NE(wrong.err.find("plain"), std::string::npos) << wrong.err;
}

TEST_F(LossCommandInput, UnwritableGradientIsReported) {
  const std::string grad = folder_.file("no/such/folder/grad.npy");
  refuse(1, "contrastive", embeddings_, labels_, {"--grad", grad}, {grad});
}

}  // namespace
}  // namespace kith
