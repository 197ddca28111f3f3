// `kith loss`: what it says to wrong input, and what it draws by itself.

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "kith/io/npy.h"
#include "kith/io/safetensors.h"
#include "tests/cli/run_program.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

using Json = nlohmann::json;

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

TEST_F(LossCommandInput, LabelsMayBeInt32) {
  Array narrow = make_array(DType::kI32, {8});
  for (size_t i = 0; i < 8; ++i) {
    narrow.values<int32_t>()[i] = static_cast<int32_t>(i / 2);
  }
  const std::string labels = save("y32.npy", narrow);
  const auto same = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--embeddings", embeddings_, "--json", "--labels"});
    const auto of = [&](const std::string& file) {
      std::vector<std::string> all = arguments;
      all.push_back(file);
      return expect_success(all).out;
    };
    EXPECT_EQ(of(labels), of(labels_));
  };
  same({"loss", "recall_at_k"});
  same({"metrics", "--metrics", "recall_any@1,map_at_r"});
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

TEST_F(LossCommandInput, AnyScaleGivesTheSameValueOrAnError) {
  const auto scaled = [&](const std::string& name, double scale) {
    Array points = read_npy(embeddings_);
    for (size_t i = 0; i < 16; ++i) {
      points.values<float>()[i] *= static_cast<float>(scale);
    }
    return save(name, points);
  };
  const auto run = [&](const std::string& embeddings) {
    return Json::parse(
        expect_success({"loss", "recall_at_k", "--embeddings", embeddings,
                        "--labels", labels_, "--json"})
            .out);
  };
  const Json usual = run(embeddings_);
  const std::string huge = scaled("huge.npy", 0x1p67);
  const std::string tiny = scaled("tiny.npy", 0x1p-84);
  for (const std::string& file : {huge, tiny}) {
    EXPECT_EQ(run(file).at("value"), usual.at("value"));
  }
  EXPECT_NEAR(run(tiny).at("grad_norm").get<double>() * 0x1p-84,
              usual.at("grad_norm").get<double>(), 1e-6);
  refuse(1, "contrastive", huge, labels_, {"--normalize", "false"},
         {"too large for float32", "normalise them"});
}

TEST_F(LossCommandInput, WrongTuplesAreRefused) {
  Array triplet = make_array(DType::kI64, {1, 3});
  triplet.values<int64_t>()[2] = 8;
  const std::string outside = save("outside.npy", triplet);
  refuse(1, "contrastive", embeddings_, labels_, {"--tuples", outside},
         {outside, "positions 0 to 8", "0 to 7"});
  const std::string wide = save("wide.npy", make_array(DType::kI64, {1, 5}));
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
  refused(2, "triplet", {"--pairs", pairs, "--alphas", alphas},
          {"--pairs", "triplet", "no virtual examples"});
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

/// A tensor of ones, as a file of parameters.
std::string save_proxies(const TempDir& folder, const std::string& file,
                         const std::string& name,
                         const std::vector<int64_t>& shape) {
  Array proxies = make_array(DType::kF32, shape);
  for (float& value : proxies.values<float>()) value = 1;
  write_safetensors(folder.file(file), {{name, proxies}});
  return folder.file(file);
}

TEST_F(LossCommandInput, DrawnParametersBelongToTheSeed) {
  const auto run = [&](const std::string& labels,
                       const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "loss",     "arcface", "--embeddings", embeddings_,
        "--labels", labels,    "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Json::parse(expect_success(arguments).out);
  };
  const Json first = run(labels_, {"--seed", "1"});
  EXPECT_EQ(first.at("classes"), 4);
  EXPECT_EQ(run(labels_, {"--seed", "1"}), first);
  EXPECT_NE(run(labels_, {"--seed", "2"}).at("value"), first.at("value"));
  // Labels that are only names, in the same order.
  Array names = make_array(DType::kI64, {8});
  for (size_t i = 0; i < 8; ++i) {
    names.values<int64_t>()[i] = -50 + 20 * static_cast<int64_t>(i / 2);
  }
  EXPECT_EQ(run(save("names.npy", names), {"--seed", "1"}), first);
  const std::string slopes = folder_.file("slopes.safetensors");
  run(labels_, {"--param-grads", slopes});
  EXPECT_EQ(SafetensorsFile(slopes).at("proxies").shape,
            (std::vector<int64_t>{4, 2}));
}

TEST_F(LossCommandInput, WrongParametersAreRefused) {
  const auto refused = [&](int exit_code, const std::string& loss,
                           const std::vector<std::string>& more,
                           const std::vector<std::string_view>& parts) {
    refuse(exit_code, loss, embeddings_, labels_, more, parts);
  };
  const std::string right =
      save_proxies(folder_, "right.safetensors", "proxies", {4, 2});
  expect_success({"loss", "arcface", "--embeddings", embeddings_, "--labels",
                  labels_, "--params", right});
  refused(2, "contrastive", {"--params", right},
          {"--params", "contrastive", "no parameters"});
  refused(2, "contrastive", {"--param-grads", folder_.file("slopes")},
          {"--param-grads", "contrastive", "no parameters"});
  const std::string unknown =
      save_proxies(folder_, "unknown.safetensors", "proxy", {4, 2});
  refused(1, "arcface", {"--params", unknown},
          {unknown, "'proxy'", "proxies, class_map, W", "rename it"});
  const std::string narrow =
      save_proxies(folder_, "narrow.safetensors", "proxies", {4, 3});
  refused(1, "arcface", {"--params", narrow},
          {narrow, "'proxies'", "embeddings have 2 numbers"});
  const std::string few =
      save_proxies(folder_, "few.safetensors", "proxies", {3, 2});
  refused(1, "arcface", {"--params", few},
          {labels_, "labels are 0 to 3", few, "classes 0 to 2"});
  const std::string missing = folder_.file("missing.safetensors");
  refused(1, "arcface", {"--params", missing}, {missing, "No such file"});
  refused(1, "arcface", {"--params", labels_}, {labels_});
  const std::string nowhere = folder_.file("no/such/folder/slopes");
  refused(1, "arcface", {"--param-grads", nowhere}, {nowhere});
}

TEST_F(LossCommandInput, TooManyVirtualExamplesAreRefused) {
  refuse(1, "recall_at_k", embeddings_, labels_,
         {"--set", "simix=true", "--set", "simix_limit=3"},
         {"simix_limit (3)", "class 3 has 2 examples", "sampler.per_class"});
}

/// KITH_CPU chooses the instructions of the kernels.
TEST_F(LossCommandInput, CpuLevelIsAVariableOfTheEnvironment) {
  const auto run = [&](const std::string& level) {
    return run_program({"/usr/bin/env", "KITH_CPU=" + level, program_path(),
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

TEST_F(LossCommandInput, AnOldNameWorksWithAWarning) {
  const auto run = [&](const std::string& name) {
    return expect_success(
        {"loss", name, "--embeddings", embeddings_, "--labels", labels_});
  };
  const ProgramResult old = run("contrastive_all");
  EXPECT_THAT(old.err,
              ::testing::HasSubstr("contrastive_all is now contrastive"));
  const ProgramResult now = run("contrastive");
  EXPECT_THAT(now.err, ::testing::Not(::testing::HasSubstr("contrastive_all")));
  EXPECT_EQ(old.out.substr(old.out.find('=')),
            now.out.substr(now.out.find('=')));
}

TEST_F(LossCommandInput, UnwritableGradientIsReported) {
  const std::string grad = folder_.file("no/such/folder/grad.npy");
  refuse(1, "contrastive", embeddings_, labels_, {"--grad", grad}, {grad});
}

}  // namespace
}  // namespace kith
