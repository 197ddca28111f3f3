// Training on a GPU against training on the CPU.

#include <filesystem>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/ops/gpu.h"
#include "kith/ops/upload.h"
#include "kith/train/multistage.h"
#include "kith/train/trainer.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/loss_curve.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

const c10::Device kGpu(c10::kCUDA, 0);

class CudaTraining : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  }
};

std::vector<double> losses(const TempDir& folder) {
  std::vector<double> all;
  for (const auto& [step, loss] : loss_curve(folder.file("log.jsonl"))) {
    all.push_back(loss);
  }
  return all;
}

/// A run on a device, stopped at a call of its progress if `at` is not
/// negative.
void run(const RunConfig& config, const TempDir& folder, c10::Device device,
         int at = -1) {
  const auto data = make_data_set(config.section("data"));
  InterruptingProgress progress(at);
  Trainer trainer(config, *data, folder.path(), device, progress);
  trainer.resume();
  try {
    trainer.run();
  } catch (const Interrupted&) {
    EXPECT_GE(at, 0);
  }
}

void expect_close(const std::vector<double>& a, const std::vector<double>& b,
                  double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

TEST_F(CudaTraining, LearnsAsOnTheCpu) {
  const RunConfig config =
      tiny_config({"model.bn=stats", "train.sub_batch=6", "eval.every=0"});
  const TempDir cpu;
  const TempDir gpu;
  run(config, cpu, c10::kCPU);
  run(config, gpu, kGpu);
  expect_close(losses(cpu), losses(gpu), 2e-3);
}

TEST_F(CudaTraining, ARunThatWasStoppedGoesOn) {
  for (const char* precision : {"float32", "bf16"}) {
    const RunConfig config = tiny_config(
        {std::string("model.precision=") + precision,
         "train.checkpoint_steps=1", "model.bn=stats", "train.sub_batch=6"});
    const TempDir whole;
    const TempDir stopped;
    run(config, whole, kGpu);
    run(config, stopped, kGpu, 8);
    ASSERT_LT(losses(stopped).size(), losses(whole).size());
    run(config, stopped, kGpu);
    expect_close(losses(whole), losses(stopped), 1e-3);
  }
}

TEST_F(CudaTraining, GradientsInChunksAreThoseOfOnePass) {
  torch::manual_seed(3);
  EmbeddingNet net(parse_config(
      "{input: {size: 32, colour: rgb, mean: [0.5, 0.5, 0.5], std: [0.3, 0.3, "
      "0.3]}, bn: stats, backbone: {name: resnet18}, head: {dim: 16}}",
      "test"));
  net.use_device(kGpu);
  net.apply_precision();
  net.train();
  const Tensor pixels =
      torch::randint(0, 256, {24, 32, 32, 3}, torch::kByte).pin_memory();
  const auto loss = make_loss("{name: recall_at_k}");
  const auto gradient = [&](int64_t sub_batch, KeepGraphs keep) {
    Multistage multistage(net, kGpu, sub_batch, keep);
    LossInput input;
    input.embeddings = multistage.embed(pixels, 1);
    input.labels = torch::arange(24, torch::kLong).remainder(6).to(kGpu);
    (*loss)(input).value.backward();
    multistage.backward(input.embeddings.grad());
    const Tensor weight = net.named_parameters()["backbone.conv1.weight"];
    const Tensor result = weight.grad().clone();
    net.zero_grad();
    return result;
  };
  const Tensor whole = gradient(0, KeepGraphs::kAll);
  const double scale = whole.abs().max().item<double>();
  for (const KeepGraphs keep :
       {KeepGraphs::kNone, KeepGraphs::kAuto, KeepGraphs::kAll}) {
    EXPECT_LE(max_difference(whole, gradient(7, keep)), 1e-3 * scale);
  }
}

TEST_F(CudaTraining, AutoKeepsGraphsWhileThereIsMemory) {
  const RunConfig config =
      tiny_config({"train.sub_batch=4", "model.bn=stats", "eval.every=0"});
  const auto data = make_data_set(config.section("data"));
  const TempDir folder;
  Trainer trainer(config, *data, folder.path(), kGpu, silent_progress());
  const DryRun result = trainer.dry_run();
  EXPECT_EQ(result.chunks, 4);
  EXPECT_EQ(result.graphs_kept, 4);
  EXPECT_GT(result.step.phases.backward.peak_bytes, 0);
  EXPECT_GT(gpu_memory(0).available, int64_t{1} << 20);
}

TEST_F(CudaTraining, UploadsArriveWhole) {
  const auto memory = page_locked(1 << 20);
  for (size_t i = 0; i < (1 << 20); ++i) {
    memory[i] = static_cast<uint8_t>(i * 7);
  }
  const Tensor host = torch::from_blob(memory.get(), {1 << 20}, torch::kByte);
  EXPECT_TRUE(host.is_pinned());
  EXPECT_TRUE(same_bits(host, Upload(host, kGpu).get().cpu()));
}

}  // namespace
}  // namespace kith
