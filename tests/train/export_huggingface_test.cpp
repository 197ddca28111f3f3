#include "kith/train/export_huggingface.h"

#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/models/published_network.h"
#include "kith/models/weights.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A network of one batch, so that batch norm has statistics.
LoadedModel exported_model(const std::string& section) {
  LoadedModel model;
  model.config = ConfigNode::map();
  model.config.set("model",
                   complete_model(parse_config(section, "test"), "rgb"));
  model.config.set("data",
                   parse_config("{name: birds, path: /home/x}", "test"));
  model.config.set("loss", parse_config("{name: supcon, t: 0.1}", "test"));
  torch::manual_seed(3);
  model.net = std::make_unique<EmbeddingNet>(*model.config.find("model"));
  const InputOptions& input = model.net->input();
  const torch::NoGradGuard no_grad;
  model.net->forward(random_normal(
      {4, input.channels(), input.size, input.size}, 5, at::kFloat));
  model.net->eval();
  return model;
}

LoadedModel published_model(const std::string& input = "size: 32",
                            const std::string& head = "dim: 6",
                            const std::string& backbone = "name: regnety_002") {
  return exported_model("{input: {" + input + "}, backbone: {" + backbone +
                        "}, head: {" + head + "}}");
}

class ExportHuggingface : public ::testing::Test {
 protected:
  int64_t write(const LoadedModel& model) {
    return export_huggingface(
        model,
        {{"runs/a/checkpoints/last.safetensors", "last", 7, 70}, "1.2.3"},
        out_);
  }
  Json config() const {
    return Json::parse(read_file(out_ + "/config.json", 1 << 20));
  }
  std::string card() const { return read_file(out_ + "/README.md", 1 << 20); }

  /// A network that the folder describes, with its weights.
  std::unique_ptr<EmbeddingNet> read(const ConfigNode& head) const {
    const PublishedNetwork found =
        describe_published(find_weight_files(out_), ConfigNode::map());
    ConfigNode section = ConfigNode::map();
    section.set("input", found.input);
    section.set("backbone", found.backbone);
    section.set("head", head);
    auto net = std::make_unique<EmbeddingNet>(complete_model(section, "rgb"));
    const WeightReport report = load_weights(out_, net->backbone());
    EXPECT_TRUE(report.missing.empty()) << report.summary();
    EXPECT_TRUE(report.mismatched.empty()) << report.summary();
    net->eval();
    return net;
  }

  TempDir folder_;
  std::string out_ = folder_.file("deep/export");
};

// As it is read from others' folders: backbone, pictures and weights.
TEST_F(ExportHuggingface, IsReadBackAsPublishedWeights) {
  const torch::NoGradGuard no_grad;
  for (const std::string backbone :
       {"resnet18", "efficientnet_b0", "efficientnet_b0, bn_eps: 0.01",
        "tf_efficientnet_b0", "regnety_002", "convnext_atto",
        "convnext_v2_atto", "googlenet", "mobilenet_v2", "mobilenet_v3_small",
        "vit_ti_16", "deit_ti_16_distilled", "dinov2_vits14, grid: 3"}) {
    SCOPED_TRACE(backbone);
    const int64_t size = backbone.starts_with("dinov2") ? 56 : 64;
    const LoadedModel model = published_model(
        "size: " + std::to_string(size) +
            ", resize: 70, filter: bicubic, mean: [0.1, 0.2, 0.3], std: [0.4, "
            "0.5, 0.6]",
        "dim: 0, pooling: average", "name: " + backbone);
    write(model);
    const auto again = read(*model.net->section().find("head"));
    EXPECT_EQ(to_yaml(write_options(again->input())),
              to_yaml(write_options(model.net->input())));
    const Tensor images = random_normal({2, 3, size, size}, 7, at::kFloat);
    const double difference =
        max_difference(again->forward(images), model.net->forward(images));
    // Positions of another grid are resized once more or once less.
    EXPECT_LE(difference, backbone.find("grid") == backbone.npos ? 0 : 1e-6);
  }
}

TEST_F(ExportHuggingface, ReadsPicturesBack) {
  for (const std::string input :
       {"size: 32", "size: 32, resize: 32", "size: 32, resize: 33",
        "size: 32, resize: 36", "size: 32, resize: 37", "size: 32, resize: 71",
        "size: 48, resize: 55", "size: 32, colour: grey, mean: [0.3]"}) {
    SCOPED_TRACE(input);
    const LoadedModel model = published_model(input);
    write(model);
    EXPECT_EQ(to_yaml(write_options(
                  read(*model.net->section().find("head"))->input())),
              to_yaml(write_options(model.net->input())));
  }
}

TEST_F(ExportHuggingface, HasTimmsLayout) {
  const int64_t bytes = write(published_model("size: 32, resize: 36"));
  const Json json = config();
  EXPECT_EQ(json.at("architecture"), "regnety_002");
  EXPECT_EQ(json.at("library_name"), "timm");
  EXPECT_EQ(json.at("num_classes"), 0);
  EXPECT_EQ(json.at("num_features"), 368);
  EXPECT_FALSE(json.contains("model_args"));
  const Json& pictures = json.at("pretrained_cfg");
  EXPECT_EQ(pictures.at("input_size"), Json({3, 32, 32}));
  EXPECT_EQ(pictures.at("fixed_input_size"), false);
  EXPECT_EQ(pictures.at("interpolation"), "bilinear");
  EXPECT_EQ(pictures.at("crop_mode"), "center");
  EXPECT_EQ(pictures.at("crop_pct"), 32.0 / 36);
  EXPECT_EQ(pictures.at("classifier"), "head.fc");
  EXPECT_EQ(pictures.at("first_conv"), "stem.conv");
  EXPECT_EQ(json.at("kith").at("version"), "1.2.3");
  EXPECT_EQ(json.at("kith").at("backbone").at("name"), "regnety_002");
  const SafetensorsFile weights(out_ + "/model.safetensors");
  EXPECT_EQ(weights.metadata().at("format"), "pt");
  EXPECT_NE(weights.find("s1.b1.conv1.conv.weight"), nullptr);
  EXPECT_EQ(bytes,
            static_cast<int64_t>(fs::file_size(out_ + "/model.safetensors") +
                                 fs::file_size(out_ + "/head.safetensors")));

  write(published_model("size: 32", "dim: 6",
                        "name: efficientnet_b0, bn_eps: 0.01"));
  EXPECT_EQ(config().at("model_args"), Json({{"bn_eps", 0.01}}));
  EXPECT_EQ(config().at("pretrained_cfg").at("crop_mode"), "squash");
  write(published_model("size: 32", "dim: 6", "name: vit_ti_16"));
  EXPECT_EQ(config().at("pretrained_cfg").at("fixed_input_size"), true);
}

TEST_F(ExportHuggingface, KeepsTheHead) {
  LoadedModel model = published_model("size: 32", "dim: 6, layer_norm: after");
  const torch::NoGradGuard no_grad;
  model.net->head().named_parameters()["gem_p"].fill_(2.75);
  write(model);
  const SafetensorsFile head(out_ + "/head.safetensors");
  EXPECT_EQ(head.entries().size(), 5u);
  for (const auto& entry : model.net->head().named_parameters()) {
    EXPECT_TRUE(same_bits(to_tensor(head.read(entry.key())),
                          entry.value().contiguous()))
        << entry.key();
  }
  EXPECT_THAT(card(), AllOf(HasSubstr("head[\"gem_p\"]"),
                            HasSubstr("F.layer_norm(x, x.shape[-1:], "
                                      "head[\"norm.weight\"]"),
                            HasSubstr("return F.normalize(x)")));
  // One without parameters has no file, and that of another does not stay.
  write(published_model("size: 32", "dim: 0, pooling: average, l2: false"));
  EXPECT_FALSE(fs::exists(out_ + "/head.safetensors"));
  EXPECT_THAT(card(),
              AllOf(HasSubstr("x = x.mean(2)\n    return x\n"),
                    Not(HasSubstr("head[")), Not(HasSubstr("load_file"))));
}

TEST_F(ExportHuggingface, TellsOfTheTrainingInTheCard) {
  write(published_model());
  EXPECT_THAT(
      card(),
      AllOf(::testing::StartsWith("---\nlibrary_name: timm\n"),
            HasSubstr("pipeline_tag: image-feature-extraction\n"),
            HasSubstr("# regnety_002 for birds"),
            HasSubstr("a vector of 6 numbers"), HasSubstr("name: supcon"),
            HasSubstr("after epoch 7, step 70"),
            HasSubstr("Resize to 32 x 32 pixels"),
            HasSubstr("`mean` is [0.5,0.5,0.5], `std` [0.5,0.5,0.5]."),
            HasSubstr("timm.create_model(f\"local-dir:{folder}\"")));
  // Nothing that says where files lie, and nothing that nobody knows.
  EXPECT_THAT(card(),
              AllOf(Not(HasSubstr("/home/x")), Not(HasSubstr("license")),
                    Not(HasSubstr("model-index"))));
  write(published_model("size: 32", "dim: 6, nested: [2, 4]",
                        "name: mobilenet_v2"));
  EXPECT_THAT(card(), AllOf(HasSubstr("library_name: torchvision"),
                            HasSubstr("The first 2 or 4 numbers"),
                            HasSubstr("torchvision.models.mobilenet_v2()")));
}

TEST_F(ExportHuggingface, RefusesWhatTheOthersCannotDo) {
  const auto refuse = [&](const LoadedModel& model, const std::string& part) {
    expect_error<ConfigError>([&] { write(model); }, part, "'onnx'");
    EXPECT_FALSE(fs::exists(out_));
  };
  refuse(published_model("size: 32", "dim: 6", "name: convnet, width: 4"),
         "neither timm nor torchvision has the backbone 'convnet'");
  refuse(published_model("size: 32, long_side: 64"), "model.input.long_side");
  refuse(
      published_model("size: 32, colour: bgr, mean: [0, 0, 0], std: [1, 1, 1]"),
      "blue, green, red");
  refuse(
      published_model("size: 32, colour: grey", "dim: 6", "name: mobilenet_v2"),
      "takes colour alone");
}

TEST_F(ExportHuggingface, TellsItselfFromOtherFolders) {
  EXPECT_FALSE(is_huggingface_export(folder_.path()));
  const LoadedModel model = published_model();
  write(model);
  EXPECT_TRUE(is_huggingface_export(out_));
  EXPECT_FALSE(is_export(out_));
  fs::remove(out_ + "/config.json");  // stopped on its way
  EXPECT_TRUE(is_huggingface_export(out_));
  folder_.write("deep/export/thesis.tex", "");
  EXPECT_FALSE(is_huggingface_export(out_));
  const std::string other = folder_.file("other");
  export_model(model, {{"a"}, "1"}, other);
  EXPECT_FALSE(is_huggingface_export(other));
  // Of timm's own.
  const std::string foreign = folder_.file("foreign");
  fs::create_directories(foreign);
  write_safetensors(foreign + "/model.safetensors", {}, {{"format", "pt"}});
  EXPECT_FALSE(is_huggingface_export(foreign));
  folder_.write("foreign/model.safetensors", "no safetensors file");
  EXPECT_FALSE(is_huggingface_export(foreign));
}

TEST_F(ExportHuggingface, LeavesNoDescriptionBesideWeightsOfAnother) {
  const LoadedModel model = published_model();
  write(model);
  fs::remove(out_ + "/README.md");
  fs::create_directories(out_ + "/README.md/x");
  EXPECT_THROW(write(model), RunError);
  EXPECT_FALSE(fs::exists(out_ + "/config.json"));
}

}  // namespace
}  // namespace kith
