// The moving average of the weights (train.ema): its formula, what is evaluated
// and what a checkpoint keeps.

#include "kith/train/weight_average.h"

#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/eval/embed.h"
#include "kith/io/safetensors.h"
#include "kith/io/tensor_io.h"
#include "kith/run/checkpoint.h"
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

MemorySet averaged_pictures() {
  std::vector<Item> items(96);
  for (size_t i = 0; i < items.size(); ++i) {
    items[i].split = i >= 48 ? Split::kTest : Split::kTrain;
    items[i].label = static_cast<int64_t>(i / 8);
  }
  return MemorySet(items);
}

/// A network whose state is set by hand, and what the average must be.
class PlainAverage {
 public:
  explicit PlainAverage(EmbeddingNet& net) : net_(net) {
    for (const auto& [name, tensor] : net.state()) {
      expected_[name] = tensor.detach().to(at::kDouble).clone();
    }
  }

  /// New values of everything, and the average in double.
  void change(int64_t step, double decay) {
    const torch::NoGradGuard no_grad;
    uint64_t seed = static_cast<uint64_t>(100 * step);
    for (auto& [name, tensor] : net_.state()) {
      if (tensor.is_floating_point()) {
        Tensor(tensor).copy_(
            random_normal(tensor.sizes().vec(), ++seed, at::kFloat));
        expected_[name] = decay * expected_[name] +
                          (1 - decay) * tensor.detach().to(at::kDouble);
      } else {
        Tensor(tensor).fill_(step);
        expected_[name] = tensor.to(at::kDouble);
      }
    }
  }

  void expect(const NamedTensors& average) const {
    for (const auto& [name, tensor] : average) {
      EXPECT_LE(max_difference(tensor.to(at::kDouble), expected_.at(name)),
                1e-6)
          << name;
    }
  }

 private:
  EmbeddingNet& net_;
  std::map<std::string, Tensor> expected_;
};

TEST(WeightAverage, FollowsItsFormula) {
  for (const bool warms_up : {false, true}) {
    EmbeddingNet net(*tiny_config({}).tree.find("model"));
    WeightAverage average(net, 0.4, warms_up);
    average.start();
    PlainAverage plain(net);
    // 2 / 11, 3 / 12, 4 / 13, 5 / 14, then 0.4 is less than 6 / 15, ...
    const std::vector<double> rising = {2.0 / 11, 0.25, 4.0 / 13, 5.0 / 14,
                                        0.4,      0.4,  0.4};
    for (int64_t step = 1; step <= 7; ++step) {
      plain.change(step,
                   warms_up ? rising[static_cast<size_t>(step - 1)] : 0.4);
      average.update(step);
      plain.expect(average.state());
    }
  }
}

TEST(WeightAverage, LeavesWhatDoesNotChangeToTheBit) {
  EmbeddingNet net(*tiny_config({}).tree.find("model"));
  WeightAverage average(net, 0.999, true);
  average.start();
  for (int64_t step = 1; step < 50; ++step) average.update(step);
  const NamedTensors now = net.state();
  for (size_t i = 0; i < now.size(); ++i) {
    EXPECT_TRUE(same_bits(average.state()[i].second, now[i].second.detach()));
  }
}

class AveragedRun : public ::testing::Test {
 protected:
  Tensor stored(const std::string& checkpoint, const std::string& name) const {
    const SafetensorsFile file(
        folder_.file("checkpoints/" + checkpoint + ".safetensors"));
    return to_tensor(file.read(name));
  }

  MemorySet data_ = averaged_pictures();
  TempDir folder_;
};

// Steps with and without an average are the same; it is evaluated and kept.
TEST_F(AveragedRun, IsEvaluatedAndKeptBesideTheLastWeights) {
  const TempDir plain_folder;
  Trainer plain(tiny_config({}), data_, plain_folder.path(), c10::kCPU,
                silent_progress());
  plain.run();
  const RunConfig config = tiny_config({"train.ema=0.8"});
  Trainer trainer(config, data_, folder_.path(), c10::kCPU, silent_progress());
  const EvalResult evaluated = trainer.run();
  EXPECT_EQ(loss_curve(folder_.file("log.jsonl")),
            loss_curve(plain_folder.file("log.jsonl")));

  const std::string name = "backbone.block2_conv.weight";
  const std::string mean = "backbone.block2_norm.running_mean";
  std::map<std::string, Tensor> last;
  for (const auto& [key, tensor] : plain.net().state()) last[key] = tensor;
  for (const std::string& key : {name, mean}) {
    EXPECT_TRUE(same_bits(stored("last", "raw." + key), last[key].detach()));
    EXPECT_GT(max_difference(stored("last", "model." + key), last[key]), 1e-5);
  }

  // What is loaded and what was evaluated is the average.
  const LogCapture log;
  const LoadedModel model = load_model(folder_.path(), c10::kCPU);
  EXPECT_THAT(log.notes(),
              Contains(HasSubstr("the moving average of the weights "
                                 "(train.ema: 0.8)")));
  std::map<std::string, Tensor> loaded;
  for (const auto& [key, tensor] : model.net->state()) loaded[key] = tensor;
  EXPECT_TRUE(
      same_bits(loaded[name].detach(), stored("last", "model." + name)));
  const EmbeddedSplit now = trainer.embed_now();
  EmbedOptions options;
  const Tensor again =
      embed(*model.net, data_, data_.list().of_split(Split::kTest), options,
            silent_progress());
  EXPECT_LE(max_difference(now.embeddings, again), 1e-6);
  // The network has its own weights back.
  for (const auto& [key, tensor] : trainer.net().state()) {
    EXPECT_TRUE(same_bits(tensor.detach(), last[key].detach())) << key;
  }
}

TEST_F(AveragedRun, GivesItsAverageToTheNextTraining) {
  Trainer(tiny_config({"train.ema=0.8"}), data_, folder_.path(), c10::kCPU,
          silent_progress())
      .run();
  EmbeddingNet net(*tiny_config({}).tree.find("model"));
  start_from_checkpoint(folder_.file("checkpoints/last.safetensors"), net);
  for (const auto& [name, tensor] : net.state()) {
    EXPECT_TRUE(same_bits(tensor.detach(), stored("last", "model." + name)));
  }
}

}  // namespace
}  // namespace kith
