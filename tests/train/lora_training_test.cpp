// A training of adapters (model.lora): what it changes, keeps, evaluates and
// exports.

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/eval/embed.h"
#include "kith/io/safetensors.h"
#include "kith/run/checkpoint.h"
#include "kith/train/export_model.h"
#include "kith/train/trainer.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/loss_curve.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/tensors.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class LoraTraining : public ::testing::Test {
 protected:
  static MemorySet pictures() {
    std::vector<Item> items(96);
    for (size_t i = 0; i < items.size(); ++i) {
      items[i].split = i >= 48 ? Split::kTest : Split::kTrain;
      items[i].label = static_cast<int64_t>(i / 8);
    }
    return MemorySet(items);
  }

  static std::map<std::string, Tensor> state_of(const EmbeddingNet& net) {
    std::map<std::string, Tensor> state;
    for (const auto& [name, tensor] : net.state()) {
      state[name] = tensor.detach().clone();
    }
    return state;
  }

  Tensor test_embeddings(EmbeddingNet& net) {
    return embed(net, data_, data_.list().of_split(Split::kTest), {},
                 silent_progress());
  }

  MemorySet data_ = pictures();
  TempDir folder_;
};

TEST_F(LoraTraining, ChangesAdaptersAndHeadAlone) {
  const LogCapture log;
  Trainer trainer(tiny_config({"model.lora={rank: 2}"}), data_, folder_.path(),
                  c10::kCPU, silent_progress());
  // Per layer 2 (9 in + out) numbers of 8 channels; the head has 8 x 16 + 16
  // and the power of GeM.
  EXPECT_THAT(
      log.notes(),
      Contains(HasSubstr(std::to_string(2 * (9 + 8) + 3 * 2 * (72 + 8) + 145) +
                         " of ")));
  EXPECT_THAT(log.notes(), Contains(HasSubstr("(model.lora: rank 2 for *)")));
  const auto before = state_of(trainer.net());
  trainer.run();
  for (const auto& [name, tensor] : state_of(trainer.net())) {
    const bool trains = name.starts_with("head.") || is_of_lora(name);
    EXPECT_EQ(!same_bits(tensor, before.at(name)), trains) << name;
  }
  const SafetensorsFile last(folder_.file("checkpoints/last.safetensors"));
  EXPECT_NE(last.find("optimizer.exp_avg.backbone.block1_conv.lora_a"),
            nullptr);
  EXPECT_EQ(last.find("optimizer.exp_avg.backbone.block1_conv.weight"),
            nullptr);
  EXPECT_NE(last.find("model.backbone.block1_conv.weight"), nullptr);
}

TEST_F(LoraTraining, IsMergedWhereverItIsLoaded) {
  Trainer trainer(tiny_config({"model.lora={rank: 2}"}), data_, folder_.path(),
                  c10::kCPU, silent_progress());
  trainer.run();
  const Tensor adapted = test_embeddings(trainer.net());
  const LoadedModel model = load_model(folder_.path(), c10::kCPU);
  EXPECT_TRUE(same_bits(test_embeddings(*model.net), adapted));
  for (const auto& [name, weight] : model.net->weights()) {
    EXPECT_FALSE(is_of_lora(name)) << name;
  }
  // An export has plain weights.
  const TempDir exported;
  export_model(model, {{}, "test"}, exported.path());
  const LoadedModel again = load_model(exported.path(), c10::kCPU);
  EXPECT_TRUE(same_bits(test_embeddings(*again.net), adapted));
  const SafetensorsFile file(exported.file("model.safetensors"));
  EXPECT_EQ(file.find("backbone.block1_conv.lora_a"), nullptr);
  // And so has a training that starts from it, with new adapters or none.
  for (const std::string lora : {"{rank: 0}", "{rank: 3}"}) {
    EmbeddingNet net(*tiny_config({"model.lora=" + lora}).tree.find("model"));
    const WeightReport report = start_from_checkpoint(
        folder_.file("checkpoints/last.safetensors"), net);
    EXPECT_TRUE(report.missing.empty()) << report.summary();
    EXPECT_TRUE(report.unexpected.empty()) << report.summary();
    EXPECT_TRUE(same_bits(test_embeddings(net), adapted));
  }
}

TEST_F(LoraTraining, InChunksIsAsInOnePass) {
  std::vector<std::vector<std::pair<int64_t, double>>> curves;
  for (const std::string keep : {"none", "all"}) {
    for (const std::string chunk : {"0", "6"}) {
      const TempDir folder;
      Trainer(tiny_config({"model.lora={rank: 2}", "train.keep_graphs=" + keep,
                           "train.sub_batch=" + chunk}),
              data_, folder.path(), c10::kCPU, silent_progress())
          .run();
      curves.push_back(loss_curve(folder.file("log.jsonl")));
    }
  }
  ASSERT_EQ(curves[0].size(), 9u);
  EXPECT_EQ(curves[0], curves[2]);  // to the bit, whatever is kept
  EXPECT_EQ(curves[1], curves[3]);
  for (size_t i = 0; i < curves[0].size(); ++i) {
    EXPECT_NEAR(curves[0][i].second, curves[1][i].second, 1e-4) << i;
  }
}

}  // namespace
}  // namespace kith
