#include "kith/train/export_model.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/models/weights_hash.h"
#include "kith/train/model_embedding.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

/// A network that has seen pictures, so that batch norm has statistics.
LoadedModel small_model(const std::string& model_section) {
  LoadedModel model;
  model.config = ConfigNode::map();
  model.config.set("model",
                   complete_model(parse_config(model_section, "test")));
  model.config.set("data", parse_config("{name: glyphs}", "test"));
  model.config.set("loss", parse_config("{name: supcon}", "test"));
  torch::manual_seed(3);
  model.net = std::make_unique<EmbeddingNet>(*model.config.find("model"));
  const InputOptions& input = model.net->input();
  model.net->forward(random_normal(
      {4, input.channels(), input.size, input.size}, 5, at::kFloat));
  model.net->eval();
  return model;
}

constexpr const char* kSmall =
    "{input: {size: 16}, backbone: {name: convnet, width: 4}, "
    "head: {dim: 6, gem_p: 2.5, layer_norm: after}}";

Image picture(int width = 37, int height = 23) {
  Image image(width, height, 1);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<uint8_t>(i * 7 % 251);
  }
  return image;
}

class ExportModel : public ::testing::Test {
 protected:
  ExportModel()
      : model_(small_model(kSmall)), out_(folder_.file("deep/export")) {
    export_model(
        model_,
        {{"runs/a/checkpoints/last.safetensors", "last", 7, 70}, "1.2.3"},
        out_);
  }

  Json json(const std::string& name) const {
    return Json::parse(read_file(out_ + "/" + name, 1 << 20));
  }

  std::string readme() const { return read_file(out_ + "/README.md", 1 << 20); }

  TempDir folder_;
  LoadedModel model_;
  std::string out_;
};

TEST_F(ExportModel, IsReadBackToTheSameBits) {
  EXPECT_TRUE(is_export(out_));
  EXPECT_FALSE(is_export(folder_.path()));
  for (const std::string& path : {out_, out_ + "/model.safetensors"}) {
    const LoadedModel again = load_model(path, c10::kCPU);
    EXPECT_EQ(to_yaml(again.config), to_yaml(model_.config));
    EXPECT_FALSE(again.net->is_training());
    const Tensor vector = embed_image(again, picture());
    EXPECT_EQ(vector.sizes(), c10::IntArrayRef({6}));
    EXPECT_TRUE(same_bits(vector, embed_image(model_, picture())));
  }
}

TEST_F(ExportModel, DamageIsAnError) {
  const std::string weights = out_ + "/model.safetensors";
  const std::string whole = read_file(weights, 1 << 24);
  for (const size_t at : {size_t{20}, whole.size() / 2, whole.size() - 1}) {
    std::string bytes = whole;
    bytes[at] ^= 2;
    write_file(weights, bytes);
    expect_error<DataError>([&] { load_model(out_, c10::kCPU); }, weights,
                            "damaged", "another copy");
  }
}

TEST_F(ExportModel, HasTheNetworkAloneUnderPlainNames) {
  const SafetensorsFile file(out_ + "/model.safetensors");
  const NamedTensors state = model_.net->state();
  EXPECT_EQ(file.entries().size(), state.size());
  for (const auto& [name, tensor] : state) {
    EXPECT_TRUE(name.starts_with("backbone.") || name.starts_with("head."));
    EXPECT_TRUE(same_bits(to_tensor(file.read(name)), tensor)) << name;
  }
}

TEST_F(ExportModel, SaysWhatTheNetworkIs) {
  const Json model = json("model.json");
  EXPECT_EQ(model.at("format_version"), 1);
  EXPECT_EQ(model.at("kith_version"), "1.2.3");
  EXPECT_EQ(model.at("backbone").at("name"), "convnet");
  EXPECT_EQ(model.at("backbone").at("width"), 4);
  const int64_t features = model_.net->backbone().features();
  EXPECT_EQ(model.at("backbone").at("features"), features);
  EXPECT_EQ(model.at("head").at("pooling"), "gem");
  EXPECT_EQ(model.at("head").at("gem_p"), 2.5);
  EXPECT_EQ(model.at("head").at("layer_norm"), "after");
  EXPECT_EQ(model.at("head").at("linear"), Json({6, features}));
  EXPECT_EQ(model.at("head").at("l2"), true);
  EXPECT_EQ(model.at("dim"), 6);
  EXPECT_EQ(model.at("batch_norm"), "train");
  EXPECT_EQ(model.at("training").at("loss"), "supcon");
  EXPECT_EQ(model.at("training").at("data"), "glyphs");
  EXPECT_EQ(model.at("training").at("checkpoint"),
            "runs/a/checkpoints/last.safetensors");
  EXPECT_EQ(model.at("weights").at("sha256_of_tensors"),
            weights_hash(model_.net->state()));
  EXPECT_THAT(readme(), HasSubstr("a vector of 6 numbers"));
  EXPECT_EQ(model.at("weights").at("sha256_of_tensors"),
            SafetensorsFile(out_ + "/model.safetensors")
                .metadata()
                .at("kith.sha256_of_tensors"));
}

TEST_F(ExportModel, SaysFromWhichPicturesAnEmbeddingIs) {
  EXPECT_EQ(json("model.json").at("descriptor"),
            Json({{"scales", {1.0}}, {"long_side", 0}, {"flip", false}}));
  const std::string note = "means over several pictures";
  EXPECT_THAT(readme(), Not(HasSubstr(note)));
  model_.config.set("eval",
                    parse_config("{flip: true, scales: [1, 0.5]}", "test"));
  export_model(model_, {{"a"}, "1"}, out_);
  EXPECT_EQ(json("model.json").at("descriptor"),
            Json({{"scales", {1.0, 0.5}}, {"long_side", 0}, {"flip", true}}));
  EXPECT_THAT(readme(), HasSubstr(note));
}

TEST_F(ExportModel, SaysHowFarAnEmbeddingMayBeCut) {
  EXPECT_FALSE(json("model.json").at("head").contains("nested"));
  EXPECT_THAT(readme(), Not(HasSubstr("serve by themselves")));
  LoadedModel nested = small_model(
      "{input: {size: 16}, backbone: {name: convnet, width: 4}, "
      "head: {dim: 6, nested: [2, 4]}}");
  cut_embeddings(nested, 4);
  export_model(nested, {{"a"}, "1"}, out_);
  EXPECT_EQ(json("model.json").at("head").at("nested"), Json({2, 4, 6}));
  EXPECT_EQ(json("model.json").at("descriptor").at("dim"), 4);
  EXPECT_THAT(readme(), HasSubstr("The first 2 or 4 numbers, made a unit "
                                  "vector again, serve by themselves."));
  const LoadedModel read = load_model(out_ + "/model.safetensors", at::kCPU);
  EXPECT_EQ(embed_image(read, picture()).size(0), 4);
}

/// The network's unit embedding of a picture, mirrored or not.
Tensor unit_embedding(const LoadedModel& model, Image image, bool mirrored) {
  const Tensor pixels = torch::from_blob(
      image.pixels.data(), {1, image.height, image.width, 1}, torch::kByte);
  const Tensor x = model.net->forward(
      model.net->prepare(mirrored ? pixels.flip({2}) : pixels));
  return torch::nn::functional::normalize(x).squeeze(0);
}

TEST_F(ExportModel, EmbedsAsTheRunWasEvaluated) {
  const torch::NoGradGuard no_grad;
  const Image image = picture(16, 16);  // of the network's own size
  const Tensor plain = unit_embedding(model_, image, false);
  EXPECT_LE(max_difference(embed_image(model_, image), plain), 1e-5);
  model_.config.set("eval", parse_config("{flip: true}", "test"));
  export_model(model_, {{"a"}, "1"}, out_);
  const Tensor mean = torch::nn::functional::normalize(
      plain + unit_embedding(model_, image, true),
      torch::nn::functional::NormalizeFuncOptions().dim(0));
  EXPECT_GT(max_difference(mean, plain), 1e-3);
  EXPECT_LE(
      max_difference(embed_image(load_model(out_, c10::kCPU), image), mean),
      1e-5);
}

TEST_F(ExportModel, NamesTheExampleInPythonWhereItKnowsTheNetwork) {
  const std::string example = "embed_one_image.py";
  EXPECT_THAT(readme(), Not(HasSubstr(example)));
  const auto readme_with = [&](const std::string& colour) {
    export_model(
        small_model("{input: {size: 32, " + colour +
                    "}, backbone: {name: mobilenet_v2}, head: {dim: 2}}"),
        {{"a"}, "1"}, out_);
    return readme();
  };
  EXPECT_THAT(readme_with("colour: rgb, mean: [0, 0, 0], std: [1, 1, 1]"),
              HasSubstr(example));
  EXPECT_THAT(readme_with("colour: grey"), Not(HasSubstr(example)));
}

TEST_F(ExportModel, TellsItselfFromOtherFolders) {
  const std::string foreign = folder_.file("foreign");
  std::filesystem::create_directories(foreign);
  folder_.write("foreign/model.json", "{}");
  EXPECT_FALSE(is_export(foreign));
  folder_.write("foreign/model.safetensors", "no safetensors file");
  EXPECT_FALSE(is_export(foreign));
  write_safetensors(foreign + "/model.safetensors", {}, {{"format", "pt"}});
  EXPECT_FALSE(is_export(foreign));
}

TEST_F(ExportModel, LeavesNoDescriptionBesideWeightsOfAnother) {
  std::filesystem::remove(out_ + "/preprocessing.json");
  std::filesystem::create_directories(out_ + "/preprocessing.json/x");
  EXPECT_THROW(export_model(model_, {{"a"}, "1"}, out_), RunError);
  EXPECT_FALSE(std::filesystem::exists(out_ + "/model.json"));
}

TEST_F(ExportModel, CountsWhenItWasStoppedOnItsWay) {
  std::filesystem::remove(out_ + "/model.json");
  EXPECT_TRUE(is_export(out_));
  folder_.write("deep/export/.kith-1-0.tmp", "half");
  EXPECT_TRUE(is_export(out_));
  folder_.write("deep/export/thesis.tex", "");
  EXPECT_FALSE(is_export(out_));
}

TEST_F(ExportModel, KeepsWhereTheNetworkComesFrom) {
  const std::string weights = out_ + "/model.safetensors";
  const ChosenCheckpoint origin = origin_of({weights});
  EXPECT_EQ(origin.file, "runs/a/checkpoints/last.safetensors");
  EXPECT_EQ(origin.text(), "last checkpoint (epoch 7)");
  EXPECT_EQ(origin.step, 70);
  folder_.write("deep/export/model.json", "{\"training\": 3}");
  EXPECT_EQ(origin_of({weights}).file, weights);
  folder_.write("deep/export/model.json", "{");
  EXPECT_EQ(origin_of({weights}).file, weights);
  std::filesystem::remove(out_ + "/model.json");
  EXPECT_EQ(origin_of({weights}).file, weights);
}

TEST_F(ExportModel, GivesTheLearntPowerOfGem) {
  const torch::NoGradGuard no_grad;
  model_.net->head().named_parameters()["gem_p"].fill_(2.75);
  export_model(model_, {{"a"}, "1"}, out_);  // over the other one
  EXPECT_EQ(json("model.json").at("head").at("gem_p"), 2.75);
}

TEST_F(ExportModel, StartsATraining) {
  const LoadedModel other = small_model(kSmall);
  const torch::NoGradGuard no_grad;
  for (Tensor& parameter : other.net->parameters()) parameter.zero_();
  const WeightReport report =
      start_from_checkpoint(out_ + "/" + kExportedWeights, *other.net);
  EXPECT_EQ(report.matched.size(), model_.net->state().size());
  EXPECT_EQ(weights_hash(other.net->state()),
            weights_hash(model_.net->state()));
}

TEST_F(ExportModel, RefusesAFileThatDoesNotFit) {
  const LoadedModel wider = small_model(
      "{input: {size: 16}, backbone: {name: convnet, width: 5}, "
      "head: {dim: 6}}");
  expect_error<DataError>(
      [&] { load_checkpoint(out_ + "/model.safetensors", {*wider.net}); },
      "model.safetensors: tensor");
  folder_.write("blocked", "");
  expect_error<RunError>(
      [&] {
        export_model(model_, {{"a"}, "1"}, folder_.file("blocked"));
      },
      "blocked: cannot make the folder");
}

TEST(ExportText, SaysHowPicturesArePrepared) {
  const TempDir folder;
  const auto steps_with = [&](const std::string& input) {
    export_model(small_model("{input: {" + input +
                             "}, backbone: {name: convnet, width: 4}, "
                             "head: {dim: 2}}"),
                 {{"a"}, "1"}, folder.path());
    const Json json =
        Json::parse(read_file(folder.file("preprocessing.json"), 1 << 20));
    std::string all;
    for (const Json& step : json.at("steps")) all += step.get<std::string>();
    return std::make_pair(json, all);
  };
  const auto [square, square_steps] = steps_with("size: 16, filter: bicubic");
  EXPECT_EQ(square.at("size"), 16);
  EXPECT_EQ(square.at("colour"), "grey");
  EXPECT_EQ(square.at("mean"), Json({0.5}));
  EXPECT_THAT(square_steps, HasSubstr("Resize to 16 x 16 pixels"));
  EXPECT_THAT(square_steps, HasSubstr("bicubic"));
  EXPECT_THAT(square_steps, HasSubstr("mode L"));

  const auto [bgr, bgr_steps] = steps_with(
      "size: 16, resize: 20, colour: bgr, mean: [0.1, 0.2, 0.3], "
      "std: [1, 1, 1]");
  EXPECT_EQ(bgr.at("resize"), 20);
  EXPECT_EQ(bgr.at("channels"), 3);
  EXPECT_THAT(bgr_steps, HasSubstr("short side has 20 pixels"));
  EXPECT_THAT(bgr_steps, HasSubstr("centre of 16 x 16"));
  EXPECT_THAT(bgr_steps, HasSubstr("blue, green, red"));

  const auto [any, any_steps] =
      steps_with("size: 16, long_side: 64, multiple: 16");
  EXPECT_EQ(any.at("long_side"), 64);
  EXPECT_THAT(any_steps, HasSubstr("long side 64"));
  EXPECT_THAT(any_steps, HasSubstr("multiple of 16"));
}

TEST(WeightsHash, ChangesWithNamesShapesAndValues) {
  const Tensor x = torch::arange(6, torch::kFloat);
  const std::string hash = weights_hash({{"a", x}});
  EXPECT_EQ(hash.size(), 64u);
  EXPECT_EQ(hash, weights_hash({{"a", x.clone()}}));
  EXPECT_NE(hash, weights_hash({{"b", x}}));
  EXPECT_NE(hash, weights_hash({{"a", x.view({2, 3})}}));
  EXPECT_NE(hash, weights_hash({{"a", x + 1e-6}}));
}

}  // namespace
}  // namespace kith
