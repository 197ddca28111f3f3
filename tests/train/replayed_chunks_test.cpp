// Batches whose passes are recorded and started as a whole, against the usual
// way: to the bit.

#include "kith/train/replayed_chunks.h"

#include <algorithm>
#include <functional>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/train/multistage.h"
#include "kith/train/trainer.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/torch/loss_curve.h"
#include "tests/support/torch/tensors.h"
#include "tests/support/torch/tiny_run.h"

namespace kith {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int64_t kAnySize = int64_t{1} << 40;

/// What a few steps of training are like.
struct Course {
  std::string backbone;
  std::string model = "bn: train";  ///< Other keys.
  int64_t side = 32;
  std::vector<int64_t> sizes = {6, 6, 6, 6, 6, 6};  ///< Of batches.
  int64_t sub_batch = 0;
  /// Before each step.
  std::function<void(EmbeddingNet&, size_t)> before = [](auto&, size_t) {};
  c10::Device device = c10::kCPU;
};

/// What comes of it.
struct Trained {
  std::vector<Tensor> embeddings;  ///< Of each batch, and in evaluation mode.
  NamedTensors state;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;

  size_t recordings() const {
    return static_cast<size_t>(
        std::count_if(notes.begin(), notes.end(), [](const auto& note) {
          return note.find("are started as a whole") != std::string::npos;
        }));
  }
};

std::unique_ptr<EmbeddingNet> course_net(const Course& course) {
  torch::manual_seed(5);
  auto net = std::make_unique<EmbeddingNet>(parse_config(
      "{input: {size: " + std::to_string(course.side) +
          ", colour: grey, mean: [0.5], std: [0.5]}, backbone: " +
          course.backbone + ", head: {dim: 8}, " + course.model + "}",
      "test"));
  net->use_device(course.device);
  net->apply_precision();
  net->train();
  return net;
}

Tensor course_pictures(int64_t count, int64_t side, uint64_t seed) {
  return (random_normal({count, side, side, 1}, seed, at::kFloat) * 60 + 128)
      .clamp(0, 255)
      .to(torch::kByte);
}

/// One step downhill.
void step_downhill(EmbeddingNet& net) {
  const torch::NoGradGuard no_grad;
  for (Tensor& parameter : net.parameters()) {
    if (!parameter.grad().defined()) continue;
    parameter.add_(parameter.grad(), -0.02);
    parameter.mutable_grad().reset();
  }
}

Trained take_course(const Course& course, bool by_replay) {
  at::globalContext().setDeterministicCuDNN(true);
  const auto net = course_net(course);
  const LogCapture log;
  Multistage multistage(*net, course.device, course.sub_batch,
                        KeepGraphs::kAll);
  if (by_replay) multistage.replay_chunks(kAnySize);
  Trained trained;
  for (size_t i = 0; i < course.sizes.size(); ++i) {
    course.before(*net, i);
    const Tensor x = course_pictures(course.sizes[i], course.side, 10 + i);
    const Tensor embeddings = multistage.embed(x, 100 + i);
    EXPECT_EQ(multistage.graphs_kept(), multistage.chunks());
    const Tensor to = random_normal(embeddings.sizes().vec(), 7, at::kFloat)
                          .to(course.device);
    (embeddings - to).pow(2).sum().backward();
    multistage.backward(embeddings.grad());
    trained.embeddings.push_back(embeddings.detach().clone());
    step_downhill(*net);
    // What is kept of weights must not be that of a recording.
    const torch::NoGradGuard no_grad;
    net->eval();
    trained.embeddings.push_back(
        net->forward(net->prepare(x.to(course.device))));
    net->train();
  }
  for (const auto& [name, tensor] : net->state()) {
    trained.state.emplace_back(name, tensor.detach().clone());
  }
  trained.notes = log.notes();
  trained.warnings = log.warnings();
  at::globalContext().setDeterministicCuDNN(false);
  return trained;
}

bool are_same_courses(const Trained& a, const Trained& b) {
  for (size_t i = 0; i < a.embeddings.size(); ++i) {
    if (!same_bits(a.embeddings[i], b.embeddings[i])) return false;
  }
  for (size_t i = 0; i < a.state.size(); ++i) {
    if (!same_bits(a.state[i].second, b.state[i].second)) return false;
  }
  return true;
}

void expect_same_course(const Course& course, size_t recordings = 1) {
  const Trained usual = take_course(course, false);
  const Trained replayed = take_course(course, true);
  ASSERT_EQ(usual.embeddings.size(), replayed.embeddings.size());
  for (size_t i = 0; i < usual.embeddings.size(); ++i) {
    EXPECT_TRUE(same_bits(usual.embeddings[i], replayed.embeddings[i]))
        << "step " << i / 2 << (i % 2 == 0 ? "" : ", evaluation");
  }
  ASSERT_EQ(usual.state.size(), replayed.state.size());
  for (size_t i = 0; i < usual.state.size(); ++i) {
    EXPECT_TRUE(same_bits(usual.state[i].second, replayed.state[i].second))
        << usual.state[i].first;
  }
  EXPECT_TRUE(usual.embeddings.back().isfinite().all().item<bool>());
  EXPECT_EQ(usual.recordings(), 0u);
  EXPECT_EQ(replayed.recordings(), recordings);
  EXPECT_THAT(replayed.warnings, IsEmpty());
}

struct Subject {
  std::string name;
  std::string backbone;
  std::string model = "bn: train";
  int64_t side = 32;
};

const char* const kVit =
    "{name: vit, patch: 8, width: 16, depth: 2, heads: 2, hidden: 16";

std::vector<Subject> small_subjects() {
  const std::string vit = kVit;
  return {{"convnet", "{name: convnet, width: 4}", "bn: train", 16},
          {"convnet_stats", "{name: convnet, width: 4}", "bn: stats", 16},
          {"resnet18", "{name: resnet18}"},
          {"vit", vit + "}"},
          {"vit_dropout", vit + ", dropout: 0.3, drop_path: 0.4}"},
          {"vit_lora", vit + "}", "lora: {rank: 2}"}};
}

std::vector<Subject> all_subjects() {
  const std::string vit = kVit;
  std::vector<Subject> all = small_subjects();
  for (const char* name :
       {"resnet50", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0",
        "regnet_y_400mf", "googlenet", "bn_inception"}) {
    all.push_back({name, std::string("{name: ") + name + "}", "bn: train", 64});
    all.push_back({std::string(name) + "_stats",
                   std::string("{name: ") + name + "}", "bn: stats", 64});
  }
  all.push_back({"resnet18_all", "{name: resnet18}", "bn: all", 64});
  all.push_back(
      {"resnet18_lora", "{name: resnet18}", "bn: stats, lora: {rank: 2}", 64});
  all.push_back({"mlp", "{name: mlp}"});
  all.push_back({"vit_rotary", vit + ", positions: rotary, registers: 2}"});
  all.push_back({"vit_resized", vit + ", grid: 3}"});
  const std::string convnext =
      "{name: convnext, depths: [1, 1, 1, 1], widths: [16, 16, 32, 32]";
  all.push_back({"convnext", convnext + ", drop_path: 0.3}", "bn: train", 64});
  all.push_back({"convnext_v2",
                 convnext + ", layer_scale: 0, response_norm: true}",
                 "bn: train", 64});
  return all;
}

std::string subject_name(const ::testing::TestParamInfo<Subject>& info) {
  return info.param.name;
}

class ReplayedNetwork : public ::testing::TestWithParam<Subject> {};

TEST_P(ReplayedNetwork, HasTheSameBits) {
  const Subject& subject = GetParam();
  expect_same_course({subject.backbone, subject.model, subject.side});
}

INSTANTIATE_TEST_SUITE_P(Cpu, ReplayedNetwork,
                         ::testing::ValuesIn(small_subjects()), subject_name);

TEST_P(ReplayedNetwork, HasTheSameBitsInChunks) {
  const Subject& subject = GetParam();
  Course course = {subject.backbone, subject.model, subject.side};
  course.sizes.assign(5, 8);
  course.sub_batch = 3;
  expect_same_course(course);
}

void expect_same_courses_on_gpu(const std::vector<Subject>& subjects,
                                int64_t sub_batch) {
  for (const Subject& subject : subjects) {
    for (const char* precision : {"float32", "bf16"}) {
      SCOPED_TRACE(subject.name + ", " + precision);
      Course course = {subject.backbone,
                       subject.model + ", precision: " + precision,
                       subject.side};
      course.sub_batch = sub_batch;
      course.device = c10::Device(c10::kCUDA, 0);
      if (are_same_courses(take_course(course, false),
                           take_course(course, false))) {
        expect_same_course(course);
      } else {
        std::cout << subject.name << ", " << precision
                  << ": not compared, for it has not the same bits twice the "
                     "usual way either\n";
      }
    }
  }
}

// All kinds of networks, in each precision.
TEST(ReplayedOnGpu, HasTheSameBits) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  expect_same_courses_on_gpu(all_subjects(), 0);
}

// Chunks of 4 and of 2.
TEST(ReplayedOnGpu, HasTheSameBitsInChunks) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  std::vector<Subject> subjects = small_subjects();
  subjects.push_back(
      {"mobilenet_v2_stats", "{name: mobilenet_v2}", "bn: stats", 64});
  expect_same_courses_on_gpu(subjects, 4);
}

/// The embeddings of the third step on a GPU, whose pass cannot be recorded,
/// which shows when that is done.
Tensor after_a_broken_recording(bool by_replay) {
  Course course = {"{name: resnet18}", "bn: stats, precision: bf16"};
  course.device = c10::Device(c10::kCUDA, 0);
  const std::shared_ptr<EmbeddingNet> net = course_net(course);
  int passes = 0;
  const OwnNetwork network(
      [&](const Tensor& pixels) {
        if (++passes == 3) torch::rand({1});
        return net->forward(net->prepare(pixels));
      },
      net);
  Multistage multistage(network, course.device, 0, KeepGraphs::kAll);
  if (by_replay) multistage.replay_chunks(kAnySize);
  at::globalContext().setDeterministicCuDNN(true);
  Tensor x;
  for (uint64_t i = 0; i < 3; ++i) {
    x = multistage.embed(course_pictures(6, course.side, i), i);
    multistage.backward(torch::ones_like(x));
    step_downhill(*net);
  }
  at::globalContext().setDeterministicCuDNN(false);
  return x.detach().clone();
}

// Batch norm folded into weights was made in it, on paper alone.
TEST(ReplayedOnGpu, KeepsNothingOfARecordingThatBroke) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  const Tensor expected = after_a_broken_recording(false);
  ASSERT_TRUE(same_bits(after_a_broken_recording(false), expected));
  const LogCapture log;
  EXPECT_TRUE(same_bits(after_a_broken_recording(true), expected));
  EXPECT_THAT(log.warnings(), Contains(HasSubstr("on the processor")));
}

class ReplayedChunksOn : public ::testing::TestWithParam<c10::DeviceType> {
 protected:
  void SetUp() override {
    if (GetParam() == c10::kCUDA && !torch::cuda::is_available()) {
      GTEST_SKIP() << "no CUDA device";
    }
  }

  static Course course(const std::string& bn = "train") {
    Course course = {"{name: convnet, width: 4}", "bn: " + bn, 16};
    course.device = GetParam() == c10::kCUDA ? c10::Device(c10::kCUDA, 0)
                                             : c10::Device(c10::kCPU);
    return course;
  }
};

// A short batch in between changes nothing; three of them are a new kind.
TEST_P(ReplayedChunksOn, FollowsTheSizeOfBatches) {
  Course course = this->course();
  course.sizes = {8, 8, 8, 8, 5, 8, 5, 5, 8, 8};
  expect_same_course(course, 1);
  course.sizes = {8, 8, 8, 8, 5, 5, 5, 5, 8, 8, 8, 8};
  expect_same_course(course, 3);
  course.sub_batch = 4;
  course.sizes = {8, 8, 8, 8, 5, 8, 9, 9, 9, 8, 8};
  expect_same_course(course, 2);
}

TEST_P(ReplayedChunksOn, FollowsWhatTrains) {
  Course course = this->course("stats");
  course.sizes.assign(12, 6);
  course.before = [](EmbeddingNet& net, size_t i) {
    net.freeze_backbone(i < 5);
  };
  expect_same_course(course, 2);
}

TEST_P(ReplayedChunksOn, FollowsWeightsToAnotherPlace) {
  Course course = this->course();
  course.sizes.assign(10, 6);
  course.before = [](EmbeddingNet& net, size_t i) {
    if (i != 5) return;
    for (Tensor& parameter : net.parameters()) {
      parameter.set_data(parameter.detach().clone());
    }
  };
  expect_same_course(course, 2);
}

// A caller that does not reset gradients has their sum.
TEST_P(ReplayedChunksOn, AddsToGradients) {
  for (const int64_t sub_batch : {0, 2, 4}) {
    const Course course = this->course();
    std::vector<NamedTensors> all;
    for (const bool by_replay : {false, true}) {
      at::globalContext().setDeterministicCuDNN(true);
      const auto net = course_net(course);
      Multistage multistage(*net, course.device, sub_batch, KeepGraphs::kAll);
      if (by_replay) multistage.replay_chunks(kAnySize);
      for (uint64_t i = 0; i < 5; ++i) {
        const Tensor x = multistage.embed(course_pictures(6, 16, i), i);
        multistage.backward(torch::ones_like(x) * static_cast<double>(i + 1));
      }
      at::globalContext().setDeterministicCuDNN(false);
      NamedTensors& gradients = all.emplace_back();
      for (const auto& [name, weight] : net->weights()) {
        gradients.emplace_back(name, weight.grad().clone());
      }
    }
    for (size_t i = 0; i < all[0].size(); ++i) {
      EXPECT_TRUE(same_bits(all[0][i].second, all[1][i].second))
          << all[0][i].first << ", " << sub_batch;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ReplayedChunksOn,
                         ::testing::Values(c10::kCPU, c10::kCUDA),
                         [](const auto& param_info) {
                           return param_info.param == c10::kCUDA ? "Gpu"
                                                                 : "Cpu";
                         });

/// y = 2 x, whose gradient can be told to fail.
class Doubled final : public torch::autograd::Function<Doubled> {
 public:
  static int passes_before;  ///< Until one fails; 0: none.
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x) {
    return 2 * x;
  }
  static torch::autograd::tensor_list backward(
      torch::autograd::AutogradContext*, torch::autograd::tensor_list dy) {
    if (passes_before > 0 && --passes_before == 0) {
      throw std::runtime_error("cannot turn");
    }
    return {2 * dy[0]};
  }
};
int Doubled::passes_before = 0;

/// The weights after six steps; `fail` is called with the number of each pass.
Tensor after_steps(bool by_replay, const std::function<void(int)>& fail,
                   int64_t sub_batch = 0) {
  torch::manual_seed(3);
  const auto layer = std::make_shared<torch::nn::LinearImpl>(4, 3);
  int passes = 0;
  const OwnNetwork network(
      [&](const Tensor& x) {
        const Tensor y = torch::dropout(layer->forward(x), 0.3, true);
        fail(++passes);
        return Doubled::apply(y);
      },
      layer);
  Multistage multistage(network, c10::kCPU, sub_batch, KeepGraphs::kAll);
  if (by_replay) multistage.replay_chunks(kAnySize);
  for (uint64_t i = 0; i < 6; ++i) {
    const Tensor x =
        multistage.embed(random_normal({5, 4}, i + 1, at::kFloat), i);
    x.pow(2).sum().backward();
    multistage.backward(x.grad());
    const torch::NoGradGuard no_grad;
    for (Tensor& parameter : layer->parameters()) {
      parameter.add_(parameter.grad(), -0.1);
      parameter.mutable_grad().reset();
    }
  }
  return layer->weight.detach().clone();
}

TEST(ReplayFallback, GoesOnIfTheForwardPassCannotBeRecorded) {
  const Tensor expected = after_steps(false, [](int) {});
  const LogCapture log;
  const Tensor weights = after_steps(true, [](int pass) {
    if (pass == 3) throw std::runtime_error("cannot be seen");
  });
  EXPECT_TRUE(same_bits(weights, expected));
  EXPECT_THAT(log.warnings(), SizeIs(1));
  EXPECT_THAT(log.warnings(), Contains(HasSubstr("cannot be seen")));
  EXPECT_THAT(log.warnings(), Contains(HasSubstr("train.replay")));
}

TEST(ReplayFallback, GoesOnIfTheBackwardPassCannotBeRecorded) {
  const Tensor expected = after_steps(false, [](int) {});
  const LogCapture log;
  const Tensor weights = after_steps(true, [](int pass) {
    if (pass == 3) Doubled::passes_before = 1;
  });
  EXPECT_TRUE(same_bits(weights, expected));
  EXPECT_THAT(log.warnings(), SizeIs(1));
  EXPECT_THAT(log.warnings(), Contains(HasSubstr("cannot turn")));
}

// Batches of three chunks: the third is the first to be recorded, passes 7
// to 9.
TEST(ReplayFallback, GoesOnIfAChunkCannotBeRecorded) {
  const Tensor expected = after_steps(
      false, [](int) {}, 2);
  for (const int bad : {7, 8, 9}) {
    const LogCapture log;
    const auto cannot_pass = [&](int pass) {
      if (pass == bad) throw std::runtime_error("cannot be seen");
    };
    EXPECT_TRUE(same_bits(after_steps(true, cannot_pass, 2), expected)) << bad;
    EXPECT_THAT(log.warnings(), SizeIs(1));
    EXPECT_THAT(log.warnings(), Contains(HasSubstr("cannot be seen")));
  }
  for (const int bad : {1, 2, 3}) {
    const LogCapture log;
    Doubled::passes_before = 6 + bad;
    EXPECT_TRUE(same_bits(after_steps(
                              true, [](int) {}, 2),
                          expected))
        << bad;
    EXPECT_THAT(log.warnings(), SizeIs(1));
    EXPECT_THAT(log.warnings(), Contains(HasSubstr("cannot turn")));
  }
}

TEST(ReplayFallback, SaysOnceWhyABatchIsNot) {
  const auto net = course_net({"{name: convnet, width: 4}", "bn: stats", 16});
  const LogCapture log;
  Multistage twice(*net, c10::kCPU, 4, KeepGraphs::kNone);
  twice.replay_chunks(kAnySize);
  twice.embed(course_pictures(8, 16, 1), 1);
  twice.embed(course_pictures(8, 16, 1), 1);
  EXPECT_THAT(log.notes(), SizeIs(1));
  EXPECT_THAT(log.notes(), Contains(HasSubstr("no graphs are to be kept")));
  Multistage large(*net, c10::kCPU, 0, KeepGraphs::kAll);
  large.replay_chunks(8 * 16 * 16 - 1);
  large.embed(course_pictures(8, 16, 1), 1);
  EXPECT_THAT(log.notes(), Contains(HasSubstr("so large")));
}

TEST(ReplayFallback, StopsWhenTold) {
  const auto net = course_net({"{name: convnet, width: 4}", "bn: stats", 16});
  Multistage multistage(*net, c10::kCPU, 0, KeepGraphs::kAll);
  multistage.replay_chunks(kAnySize);
  EXPECT_FALSE(multistage.stop_replaying());
  multistage.replay_chunks(kAnySize);
  for (uint64_t i = 0; i < 3; ++i) {
    const Tensor x = multistage.embed(course_pictures(4, 16, i), i);
    multistage.backward(torch::ones_like(x));
  }
  EXPECT_TRUE(multistage.stop_replaying());
  EXPECT_FALSE(multistage.stop_replaying());
  multistage.backward(
      torch::ones_like(multistage.embed(course_pictures(4, 16, 1), 1)));
}

/// The losses of a run, and what it told.
std::vector<std::pair<int64_t, double>> run_curve(
    const std::vector<std::string>& changes, std::vector<std::string>& notes) {
  const LogCapture log;
  const RunConfig config = tiny_config(changes);
  const auto data = make_data_set(config.section("data"));
  const TempDir folder;
  Trainer trainer(config, *data, folder.path(), c10::kCPU, silent_progress());
  trainer.run();
  notes = log.notes();
  return loss_curve(folder.file("log.jsonl"));
}

TEST(ReplayedRun, HasTheSameLosses) {
  const auto told = HasSubstr("started as a whole");
  std::vector<std::string> notes;
  const auto expected = run_curve({"train.replay=none"}, notes);
  EXPECT_THAT(notes, Not(Contains(told)));
  EXPECT_EQ(run_curve({"train.replay=all"}, notes), expected);
  EXPECT_THAT(notes, Contains(told));
  // On the CPU there is nothing to gain.
  EXPECT_EQ(run_curve({}, notes), expected);
  EXPECT_THAT(notes, Not(Contains(told)));
}

TEST(ReplayedRun, SaysWhyItIsNone) {
  std::vector<std::string> notes;
  run_curve({"train.replay=all", "train.lanes=2"}, notes);
  EXPECT_THAT(notes, Contains(HasSubstr("several lanes")));
  run_curve({"train.replay=all", "train.mixup=2"}, notes);
  EXPECT_THAT(notes, Contains(HasSubstr("mixed")));
}

}  // namespace
}  // namespace kith
