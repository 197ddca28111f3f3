#include "kith/run/checkpoint.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/core/file.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/run/previous_checkpoint.h"
#include "kith/train/optimizer.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

ConfigNode config_of(int64_t width, int64_t dim) {
  ConfigNode config = ConfigNode::map();
  config.set("model",
             complete_model(parse_config(
                 "{backbone: {name: convnet, width: " + std::to_string(width) +
                     "}, head: {dim: " + std::to_string(dim) + "}}",
                 "test")));
  return config;
}

/// A small network and its optimiser, both away from their initial state.
struct Subject {
  explicit Subject(uint64_t seed, int64_t dim = 3)
      : config(config_of(2, dim)), net(seeded(seed)) {
    NamedTensors parameters;
    for (const auto& entry : net.named_parameters()) {
      parameters.emplace_back(entry.key(), entry.value());
    }
    optimizer = optimizer_registry().make(parse_config("{name: adam}", "test"),
                                          "optimizer", parameters);
    for (int i = 0; i < 2; ++i) {
      optimizer->zero_grad();
      net.forward(random_normal({4, 1, 16, 16}, seed, at::kFloat))
          .select(1, 0)
          .sum()
          .backward();
      optimizer->step(0.01);
    }
  }

  const ConfigNode& seeded(uint64_t seed) const {
    torch::manual_seed(seed);
    return *config.find("model");
  }

  NamedTensors all() const {
    NamedTensors tensors = net.state();
    for (const auto& entry : optimizer->state()) tensors.push_back(entry);
    return tensors;
  }

  ConfigNode config;
  EmbeddingNet net;
  std::unique_ptr<Optimizer> optimizer;
};

void expect_same(const NamedTensors& a, const NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    EXPECT_TRUE(same_bits(a[i].second, b[i].second)) << a[i].first;
  }
}

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() : saved_(1), path_(folder_.file("a.safetensors")) {
    save_checkpoint(path_, {saved_.net, {}, &saved_.optimizer->state()},
                    saved_.config, "{\"step\": 2}");
  }

  /// The checkpoint again, with its list of tensors changed, or metadata.
  template <typename Change>
  void rewrite(const Change& change,
               const std::map<std::string, std::string>& news = {}) const {
    const SafetensorsFile file(path_);
    std::vector<std::pair<std::string, Array>> arrays;
    for (const SafetensorsEntry& entry : file.entries()) {
      arrays.emplace_back(entry.name, file.read(entry.name));
    }
    change(arrays);
    std::vector<std::pair<std::string, ArrayView>> views;
    for (const auto& [name, array] : arrays) {
      views.emplace_back(
          name, ArrayView(array.dtype, array.shape, array.bytes.data()));
    }
    std::map<std::string, std::string> metadata = news;
    metadata.insert(file.metadata().begin(), file.metadata().end());
    write_safetensors(path_, views, metadata);
  }

  template <typename... Parts>
  void expect_refused(const Parts&... parts) const {
    Subject other(2);
    expect_error<DataError>(
        [&] {
          load_checkpoint(path_, {other.net, {}, &other.optimizer->state()});
        },
        "a.safetensors", parts...);
  }

  TempDir folder_;
  Subject saved_;
  std::string path_;
};

TEST_F(CheckpointTest, RefusesWeightsThatAreNoNumbers) {
  for (auto& [name, tensor] : saved_.net.state()) {
    const torch::NoGradGuard no_grad;
    if (name.ends_with("running_mean")) tensor[0] = NAN;
  }
  save_checkpoint(path_, {saved_.net, {}, &saved_.optimizer->state()},
                  saved_.config, "{\"step\": 2}");
  expect_refused(path_, "running_mean", "NaN or infinite", "optimizer.lr");
  expect_error<DataError>([&] { load_model(path_, c10::kCPU); },
                          "running_mean");
}

TEST_F(CheckpointTest, RestoresEveryBit) {
  Subject other(2);
  load_checkpoint(path_, {other.net, {}, &other.optimizer->state()});
  expect_same(other.all(), saved_.all());
  const CheckpointInfo info = read_checkpoint_info(path_);
  EXPECT_EQ(info.progress, "{\"step\": 2}");
  EXPECT_EQ(to_yaml(info.config), to_yaml(saved_.config));
}

TEST_F(CheckpointTest, TheModelCanBeLoadedAlone) {
  Subject other(2);
  load_checkpoint(path_, {other.net});
  expect_same(other.net.state(), saved_.net.state());

  save_checkpoint(path_, {saved_.net}, saved_.config, "");
  Subject third(3);
  load_checkpoint(path_, {third.net});
  expect_same(third.net.state(), saved_.net.state());
  expect_refused("optimizer.", "missing");
}

TEST_F(CheckpointTest, LoadModelMakesTheNetworkFromTheFile) {
  const LoadedModel model = load_model(path_, c10::kCPU);
  expect_same(model.net->state(), saved_.net.state());
  EXPECT_FALSE(model.net->is_training());
  EXPECT_EQ(to_yaml(model.config), to_yaml(saved_.config));
}

// 640 GB of weights, said in a file of a few kilobytes.
TEST_F(CheckpointTest, ANetworkThatIsLargerThanTheFileIsRefused) {
  ConfigNode large = saved_.config;
  large.find("model")->set("backbone",
                           parse_config("{name: vit, width: 8192, heads: 8, "
                                        "hidden: 32768, depth: 200}",
                                        "test"));
  rewrite([](auto&) {}, {{"kith.config", to_yaml(large)}});
  expect_error<DataError>([&] { load_model(path_, c10::kCPU); },
                          "a.safetensors", "describes a network of more than",
                          "its weights of 1 MB are too small");
}

TEST_F(CheckpointTest, ARunsFolderMeansItsLastCheckpoint) {
  expect_error<DataError>([&] { find_checkpoint(folder_.path()); },
                          "no run of kith here");
  std::filesystem::create_directories(folder_.file("checkpoints"));
  const std::string last = folder_.file("checkpoints/last.safetensors");
  std::filesystem::copy_file(path_, last);
  EXPECT_EQ(find_checkpoint(folder_.path()), last);
  EXPECT_EQ(find_checkpoint(path_), path_);
}

TEST_F(CheckpointTest, NoOtherNetworkStandsForOneThatIsMissing) {
  const std::string weights = folder_.file(kExportedWeights);
  save_model(weights, saved_.net, saved_.config);
  EXPECT_EQ(find_checkpoint(folder_.path()), weights);
  expect_error<DataError>([&] { find_checkpoint(folder_.path(), "best"); },
                          "no run of kith here");
  std::filesystem::create_directories(folder_.file("checkpoints"));
  expect_error<DataError>([&] { find_checkpoint(folder_.path()); },
                          "this run has no last checkpoint", "it has: none");
  std::filesystem::copy_file(path_,
                             folder_.file("checkpoints/last.safetensors"));
  expect_error<DataError>([&] { find_checkpoint(folder_.path(), "best"); },
                          "this run has no best checkpoint",
                          "best.safetensors does not exist", "it has: last");
}

TEST_F(CheckpointTest, AnExportOfALaterKithIsRefused) {
  save_model(path_, saved_.net, saved_.config);
  EXPECT_TRUE(is_saved_model(path_));
  rewrite([](auto&) {}, {{"kith.export", "2"}});
  EXPECT_TRUE(is_saved_model(path_));
  Subject other(2);
  for (const std::function<void()>& read :
       {std::function<void()>([&] { load_model(path_, c10::kCPU); }),
        {[&] { load_checkpoint(path_, {other.net}); }},
        {[&] { start_from_checkpoint(path_, other.net); }}}) {
    expect_error<DataError>(read, "a.safetensors", "made by a later kith",
                            "export version 2");
  }
}

TEST_F(CheckpointTest, OnlyAnExportIsASavedModel) {
  EXPECT_FALSE(is_saved_model(path_));
  EXPECT_FALSE(is_saved_model(folder_.path()));
  EXPECT_FALSE(is_saved_model(folder_.file("nothing")));
  EXPECT_FALSE(is_saved_model(folder_.write("text", "model")));
}

// The memory of the network is not taken.
TEST_F(CheckpointTest, ALargerHeadThanTheFileHasIsRefused) {
  const ConfigNode large = config_of(2, 1 << 20);
  save_model(path_, saved_.net, large);
  expect_error<DataError>([&] { load_model(path_, c10::kCPU); },
                          "a.safetensors", "head.linear.weight",
                          "'model.head.dim', 1048576");
}

// Some of all bits: an error that names the file, or the same network.
TEST_F(CheckpointTest, AChangedBitIsAnError) {
  const std::string whole = read_file(path_, 1 << 24);
  const size_t step = 8 * whole.size() / 300 | 1;
  size_t told = 0;
  for (size_t bit = 0; bit < 8 * whole.size(); bit += step) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    write_file(path_, bytes);
    Subject other(2);
    try {
      load_checkpoint(path_, {other.net, {}, &other.optimizer->state()});
      expect_same(other.all(), saved_.all());
      EXPECT_EQ(to_yaml(read_checkpoint_info(path_).config),
                to_yaml(saved_.config));
    } catch (const DataError& error) {
      ++told;
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos);
    }
  }
  EXPECT_GT(told, 295u);
}

TEST_F(CheckpointTest, NamesTheWholeOnesBesideADamagedOne) {
  std::filesystem::create_directories(folder_.file("checkpoints"));
  const std::string last = folder_.file("checkpoints/last.safetensors");
  const std::string best = folder_.file("checkpoints/best.safetensors");
  std::filesystem::copy_file(path_, last);
  keep_previous_checkpoint(last);
  keep_previous_checkpoint(last);
  std::string bytes = read_file(path_, 1 << 24);
  EXPECT_EQ(read_file(previous_checkpoint(last), 1 << 24), bytes);
  bytes[bytes.size() - 9] ^= 1;
  write_file(best, bytes);
  write_file_atomically(last, bytes);  // not through the name of the other
  const auto load = [&] { load_model(folder_.path(), c10::kCPU); };
  bytes[bytes.find("model.")] ^= 1;
  write_file_atomically(last, bytes);
  expect_error<DataError>(load, last, "damaged", "header",
                          "whole are beside it: " + previous_checkpoint(last));
  write_file(previous_checkpoint(last), bytes);
  expect_error<DataError>(load, last, "damaged", "another copy");
  EXPECT_EQ(remedy_of_damage(path_), "");
  EXPECT_EQ(remedy_of_damage(folder_.file("none")), "");
}

TEST_F(CheckpointTest, MissingTensor) {
  rewrite([](auto& arrays) {
    std::erase_if(arrays,
                  [](const auto& a) { return a.first == "model.head.gem_p"; });
  });
  expect_refused("'model.head.gem_p'", "missing");
}

TEST_F(CheckpointTest, ExtraTensor) {
  rewrite([](auto& arrays) {
    arrays.emplace_back("model.head.hat", arrays.front().second);
  });
  expect_refused("'model.head.hat'", "not part of this model");
}

TEST_F(CheckpointTest, AnotherShapeOrType) {
  Subject wide(2, /*dim=*/5);
  expect_error<DataError>([&] { load_checkpoint(path_, {wide.net}); },
                          "model.head.linear", "shape");
  rewrite([](auto& arrays) {
    for (auto& [name, array] : arrays) {
      if (name == "optimizer.steps.head.gem_p") {
        array.dtype = DType::kF64;
      }
    }
  });
  expect_refused("'optimizer.steps.head.gem_p'", "type");
}

TEST_F(CheckpointTest, FilesThatAreNoCheckpoints) {
  folder_.write("a.safetensors", "");
  expect_error<DataError>([&] { read_checkpoint_info(path_); },
                          "a.safetensors");
  write_safetensors(path_, {});
  expect_error<DataError>([&] { read_checkpoint_info(path_); },
                          "not a checkpoint of kith");
  expect_error<DataError>([&] { load_model(folder_.file("x"), c10::kCPU); },
                          "x");
}

/// What earlier versions called a tensor of a vision transformer.
std::string old_vit_name(std::string name) {
  const std::pair<const char*, const char*> parts[] = {
      {"cls_token", "class_token"},
      {"pos_embed", "encoder.pos_embedding"},
      {"patch_embed.proj.", "conv_proj."},
      {"backbone.norm.", "backbone.encoder.ln."},
      {"blocks.", "encoder.layers.encoder_layer_"},
      {"norm1", "ln_1"},
      {"norm2", "ln_2"},
      {"attn.qkv.", "self_attention.in_proj_"},
      {"attn.proj", "self_attention.out_proj"},
      {"mlp.fc1", "mlp.0"},
      {"mlp.fc2", "mlp.3"}};
  for (const auto& [now, before] : parts) {
    const size_t at = name.find(now);
    if (at != std::string::npos) {
      name.replace(at, std::string(now).size(), before);
    }
  }
  return name;
}

/// The same file with the names of before.
void write_with_old_names(const std::string& from, const std::string& to) {
  const SafetensorsFile file(from);
  NamedTensors tensors;
  std::vector<std::pair<std::string, ArrayView>> views;
  for (const SafetensorsEntry& entry : file.entries()) {
    tensors.emplace_back(old_vit_name(entry.name),
                         to_tensor(file.read(entry.name)));
    views.emplace_back(tensors.back().first, view_of(tensors.back().second));
  }
  write_safetensors(to, views, file.metadata());
}

TEST(Checkpoint, OfATransformerOfBeforeIsRead) {
  const TempDir dir;
  ConfigNode config = ConfigNode::map();
  config.set("model",
             complete_model(parse_config(
                 "{backbone: {name: vit, patch: 4, width: 6, depth: 2, heads: "
                 "2, hidden: 8}, input: {size: 8}, head: {dim: 3}}",
                 "test")));
  EmbeddingNet net(*config.find("model"));
  NamedTensors parameters = net.weights();
  const auto optimizer = optimizer_registry().make(
      parse_config("{name: adam}", "test"), "optimizer", parameters);
  const Tensor images = random_normal({2, 1, 8, 8}, 1, at::kFloat);
  net.forward(images).select(1, 0).sum().backward();
  optimizer->step(0.01);
  const NamedTensors state = optimizer->state();
  save_checkpoint(dir.file("now"), {net, {}, &state}, config, "{}");
  write_with_old_names(dir.file("now"), dir.file("before"));
  const SafetensorsFile file(dir.file("before"));
  ASSERT_NE(file.find("model.backbone.encoder.ln.weight"), nullptr);
  ASSERT_EQ(file.find("model.backbone.norm.weight"), nullptr);

  net.eval();
  const Tensor expected = net.forward(images);
  const LoadedModel model = load_model(dir.file("before"), at::kCPU);
  EXPECT_TRUE(torch::equal(model.net->forward(images), expected));

  torch::manual_seed(9);
  EmbeddingNet other(*config.find("model"));
  const auto fresh = optimizer_registry().make(
      parse_config("{name: adam}", "test"), "optimizer", other.weights());
  NamedTensors restored = fresh->state();
  load_checkpoint(dir.file("before"), {other, {}, &restored});
  for (size_t i = 0; i < state.size(); ++i) {
    EXPECT_TRUE(torch::equal(restored[i].second, state[i].second))
        << state[i].first;
  }
  EmbeddingNet third(*config.find("model"));
  const WeightReport report = start_from_checkpoint(dir.file("before"), third);
  EXPECT_TRUE(report.missing.empty() && report.unexpected.empty())
      << report.summary();
}

}  // namespace
}  // namespace kith
