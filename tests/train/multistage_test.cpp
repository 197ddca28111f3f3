// Gradients of a batch taken in chunks against those of one pass.

#include "kith/train/multistage.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/memory.h"
#include "kith/losses/loss.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/loss_subjects.h"
#include "tests/support/torch/losses.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

constexpr int64_t kImages = 24;

Tensor pictures() {
  return (random_normal({kImages, 16, 16, 1}, 3, at::kFloat) * 60 + 128)
      .clamp(0, 255)
      .to(torch::kByte);
}

Tensor labels() { return torch::arange(kImages, torch::kLong).remainder(6); }

std::unique_ptr<EmbeddingNet> make_net(const std::string& backbone,
                                       const std::string& bn = "stats") {
  torch::manual_seed(5);
  auto net = std::make_unique<EmbeddingNet>(parse_config(
      "{input: {size: 16, colour: grey, mean: [0.5], std: [0.5]}, bn: " + bn +
          ", backbone: " + backbone + ", head: {dim: 8}}",
      "test"));
  net->train();
  return net;
}

NamedTensors gradients(EmbeddingNet& net) {
  NamedTensors all;
  for (const auto& entry : net.named_parameters()) {
    if (!entry.value().grad().defined()) continue;
    all.emplace_back(entry.key(), entry.value().grad().clone());
    entry.value().mutable_grad().reset();
  }
  return all;
}

/// `width` columns of tuples; 0: none.
Tensor loss_of(const Loss& loss, const Tensor& embeddings, int64_t width = 0) {
  return loss(input_for(loss, embeddings, labels(), width)).value;
}

NamedTensors in_chunks(EmbeddingNet& net, const Loss& loss, int64_t sub_batch,
                       KeepGraphs keep, int64_t width = 0) {
  Multistage multistage(net, c10::kCPU, sub_batch, keep);
  const Tensor embeddings = multistage.embed(pictures(), 17);
  loss_of(loss, embeddings, width).backward();
  multistage.backward(embeddings.grad());
  return gradients(net);
}

void expect_near(const NamedTensors& expected, const NamedTensors& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i].first, actual[i].first);
    const double scale = expected[i].second.abs().max().item<double>();
    // Beside it, room for one that is zero but for rounding.
    EXPECT_LE(max_difference(expected[i].second, actual[i].second),
              1e-9 * scale + 1e-15)
        << expected[i].first;
  }
}

void expect_same_bits(const NamedTensors& expected,
                      const NamedTensors& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(same_bits(expected[i].second, actual[i].second))
        << expected[i].first;
  }
}

void expect_one_pass(const std::string& yaml, int64_t width) {
  const auto net = make_net("{name: convnet, width: 4}");
  net->to(torch::kDouble);
  const Tensor embeddings = net->forward(net->prepare(pictures()));
  const auto loss = make_loss_for(yaml, embeddings, 6);
  loss_of(*loss, embeddings, width).backward();
  const NamedTensors one_pass = gradients(*net);
  ASSERT_FALSE(one_pass.empty());
  for (const KeepGraphs keep :
       {KeepGraphs::kNone, KeepGraphs::kAuto, KeepGraphs::kAll}) {
    // 7 does not divide the batch: the last chunk is short.
    expect_near(one_pass, in_chunks(*net, *loss, 7, keep, width));
  }
  expect_near(one_pass, in_chunks(*net, *loss, 0, KeepGraphs::kAuto, width));
}

class EveryLoss : public ::testing::TestWithParam<LossSubject> {};

TEST_P(EveryLoss, HasTheGradientsOfOnePass) {
  expect_one_pass("{name: " + GetParam().name + "}", GetParam().width);
}

INSTANTIATE_TEST_SUITE_P(Losses, EveryLoss,
                         ::testing::ValuesIn(first_loss_subjects()),
                         [](const auto& param_info) {
                           return param_info.param.test_name();
                         });

TEST(Multistage, VirtualExamplesHaveTheGradientsOfOnePass) {
  expect_one_pass("{name: recall_at_k, simix: true}", 0);
}

TEST(Multistage, WhichGraphsAreKeptChangesNoBit) {
  const auto loss = make_loss("{name: recall_at_k}");
  const auto net = make_net("{name: convnet, width: 4}");
  const NamedTensors all = in_chunks(*net, *loss, 5, KeepGraphs::kAll);
  expect_same_bits(all, in_chunks(*net, *loss, 5, KeepGraphs::kNone));
  expect_same_bits(all, in_chunks(*net, *loss, 5, KeepGraphs::kAuto));
}

// The second pass leaves out what the first did.
TEST(Multistage, DropPathOfATransformerIsDrawnOnce) {
  const auto loss = make_loss("{name: recall_at_k}");
  const auto net = make_net(
      "{name: vit, patch: 8, width: 8, depth: 3, heads: 2, hidden: 8, "
      "drop_path: 0.5, grid: 3}");
  const NamedTensors all = in_chunks(*net, *loss, 5, KeepGraphs::kAll);
  expect_same_bits(all, in_chunks(*net, *loss, 5, KeepGraphs::kNone));
}

TEST(Multistage, CountsStatisticsOnce) {
  const auto statistics = [](KeepGraphs keep) {
    const auto net = make_net("{name: convnet, width: 4}", "train");
    in_chunks(*net, *make_loss("{name: recall_at_k}"), 8, keep);
    return net->backbone().buffers()[0].clone();
  };
  EXPECT_TRUE(
      same_bits(statistics(KeepGraphs::kNone), statistics(KeepGraphs::kAll)));
}

/// The loss of a mixed batch.
Tensor mixed_loss(const Loss& loss, const Tensor& embeddings, double lambda,
                  const Tensor& partners) {
  LossInput input;
  input.embeddings = embeddings;
  input.labels = labels();
  const Tensor own = loss(input).value;
  input.labels = labels().index_select(0, partners);
  return lambda * own + (1 - lambda) * loss(input).value;
}

TEST(Multistage, MixesChunksAsOnePassWould) {
  const auto loss = make_loss("{name: contrastive}");
  for (const std::string backbone :
       {"{name: convnet, width: 4}", "{name: mlp, hidden: [5, 7]}"}) {
    const auto net = make_net(backbone);
    net->to(torch::kDouble);
    for (int64_t point = 0; point < net->backbone().mix_points(); ++point) {
      SCOPED_TRACE(backbone + ", point " + std::to_string(point));
      const Mixup mixup = {0.7, point, 23};
      for (const int64_t sub_batch : {0, 7}) {
        for (const KeepGraphs keep : {KeepGraphs::kNone, KeepGraphs::kAll}) {
          Multistage multistage(*net, c10::kCPU, sub_batch, keep);
          const Tensor x = multistage.embed(pictures(), 17, mixup);
          const Tensor partners = multistage.partners();
          mixed_loss(*loss, x, mixup.lambda, partners).backward();
          multistage.backward(x.grad());
          const NamedTensors chunks = gradients(*net);

          const Tensor whole = net->forward(net->prepare(pictures()),
                                            {mixup.lambda, point, partners});
          EXPECT_LE(max_difference(x, whole), 1e-12);
          mixed_loss(*loss, whole, mixup.lambda, partners).backward();
          expect_near(gradients(*net), chunks);
        }
      }
    }
  }
}

TEST(Multistage, PartnersStayWithinTheirChunk) {
  const auto net = make_net("{name: mlp}");
  Multistage multistage(*net, c10::kCPU, 7, KeepGraphs::kNone);
  const Tensor plain = multistage.embed(pictures(), 1);
  EXPECT_FALSE(multistage.partners().defined());
  const Tensor mixed = multistage.embed(pictures(), 1, Mixup{0.5, 1, 3});
  EXPECT_GT(max_difference(plain, mixed), 1e-3);
  const Tensor places = torch::arange(kImages, torch::kLong);
  const Tensor& partners = multistage.partners();
  EXPECT_TRUE(torch::equal(std::get<0>(partners.sort()), places));
  EXPECT_TRUE(torch::equal(partners.div(7, "floor"), places.div(7, "floor")));
  EXPECT_FALSE(torch::equal(partners, places));
  EXPECT_TRUE(same_bits(plain, multistage.embed(pictures(), 1)));
  EXPECT_FALSE(multistage.partners().defined());
}

TEST(Multistage, TellsHowManyGraphsItKeeps) {
  const auto net = make_net("{name: convnet, width: 4}");
  Multistage none(*net, c10::kCPU, 7, KeepGraphs::kNone);
  none.embed(pictures(), 1);
  EXPECT_EQ(none.chunks(), 4);
  EXPECT_EQ(none.graphs_kept(), 0);
  Multistage all(*net, c10::kCPU, 7, KeepGraphs::kAll);
  all.embed(pictures(), 1);
  EXPECT_EQ(all.graphs_kept(), 4);
}

TEST(Multistage, HalvesItsChunks) {
  const auto net = make_net("{name: convnet, width: 4}");
  Multistage whole(*net, c10::kCPU, 0, KeepGraphs::kNone);
  whole.embed(pictures().slice(0, 0, 9), 1);
  whole.drop();
  EXPECT_TRUE(whole.halve_sub_batch());
  EXPECT_EQ(whole.sub_batch(), 5);
  Multistage single(*net, c10::kCPU, 1, KeepGraphs::kNone);
  single.embed(pictures(), 1);
  EXPECT_FALSE(single.halve_sub_batch());
}

TEST(Multistage, SaysWhatIsWrongWithItsInput) {
  const auto refused = [](auto call, const auto&... parts) {
    expect_error<c10::ValueError>(call, parts...);
  };
  const auto net = make_net("{name: convnet, width: 4}");
  refused([&] { Multistage(*net, c10::kCPU, -1, KeepGraphs::kNone); },
          "sub-batch", "-1");
  refused(
      [&] {
        Multistage(std::shared_ptr<torch::nn::LinearImpl>(), c10::kCPU, 0);
      },
      "module");
  Multistage multistage(*net, c10::kCPU, 7, KeepGraphs::kNone);
  refused([&] { multistage.embed(pictures().slice(0, 0, 0), 1); },
          "at least one picture", "[0, 16, 16, 1]");
  refused([&] { multistage.backward(torch::zeros({kImages, 8})); }, "embed()");
  multistage.embed(pictures(), 1);
  refused(
      [&] {
        multistage.backward(torch::zeros({2, 8}));
      },
      "[24, D]", "[2, 8]");
}

/// The pictures of a batch in three sizes, and the order they are in.
struct MixedBatch {
  std::vector<Multistage::Part> parts;
  std::vector<Tensor> singles;  ///< [1, H, W, 1], in the order of the batch.
};

MixedBatch mixed_batch() {
  const std::pair<int64_t, int64_t> sizes[] = {{8, 16}, {16, 8}, {12, 12}};
  MixedBatch batch;
  batch.singles.resize(kImages);
  for (int64_t i = 0; i < 3; ++i) {
    const auto [height, width] = sizes[i];
    Multistage::Part part;
    for (int64_t place = i; place < kImages; place += i == 0 ? 2 : 4) {
      // 0, 2, 4, ..., then 1, 5, ..., then 3, 7, ...
      part.positions.push_back(i == 2 ? place + 1 : place);
    }
    const auto count = static_cast<int64_t>(part.positions.size());
    part.pixels =
        (random_normal({count, height, width, 1}, 30 + i, at::kFloat) * 60 +
         128)
            .clamp(0, 255)
            .to(torch::kByte);
    for (int64_t k = 0; k < count; ++k) {
      batch.singles[static_cast<size_t>(
          part.positions[static_cast<size_t>(k)])] =
          part.pixels.slice(0, k, k + 1);
    }
    batch.parts.push_back(part);
  }
  return batch;
}

TEST(Multistage, OfMixedSizesHasTheGradientsOfSinglePictures) {
  const auto net = make_net("{name: convnet, width: 4}");
  net->to(torch::kDouble);
  const MixedBatch batch = mixed_batch();
  const auto loss = make_loss("{name: recall_at_k}");
  std::vector<Tensor> rows;
  for (const Tensor& picture : batch.singles) {
    rows.push_back(net->forward(net->prepare(picture)));
  }
  const Tensor expected = torch::cat(rows);
  loss_of(*loss, expected).backward();
  const NamedTensors one_by_one = gradients(*net);
  for (const int64_t sub_batch : {0, 1, 3, 100}) {
    NamedTensors first;
    for (const KeepGraphs keep : {KeepGraphs::kAll, KeepGraphs::kNone}) {
      Multistage multistage(*net, c10::kCPU, sub_batch, keep);
      const Tensor x = multistage.embed(batch.parts, 17);
      EXPECT_LE(max_difference(x, expected), 1e-12);
      loss_of(*loss, x).backward();
      multistage.backward(x.grad());
      const NamedTensors got = gradients(*net);
      expect_near(one_by_one, got);
      if (!first.empty()) expect_same_bits(first, got);
      first = got;
    }
  }
}

// Sub-batches are counted in pictures of 16 x 16.
TEST(Multistage, BoundsThePixelsOfAChunk) {
  const auto net = make_net("{name: convnet, width: 4}");
  const auto chunks = [&](int64_t sub_batch) {
    Multistage multistage(*net, c10::kCPU, sub_batch, KeepGraphs::kNone);
    multistage.embed(mixed_batch().parts, 1);
    return multistage.chunks();
  };
  EXPECT_EQ(chunks(0), 3);   // 12 of 8 x 16, 6 of 16 x 8, 6 of 12 x 12
  EXPECT_EQ(chunks(3), 5);   // 6, 6; 6; 5, 1
  EXPECT_EQ(chunks(1), 15);  // twos; twos; ones
  Multistage multistage(*net, c10::kCPU, 0, KeepGraphs::kNone);
  multistage.embed(mixed_batch().parts, 1);
  EXPECT_TRUE(multistage.halve_sub_batch());
  EXPECT_EQ(multistage.sub_batch(), 3);
}

TEST(Memory, IsTold) {
  ASSERT_TRUE(resident_bytes() && peak_resident_bytes() && available_bytes());
  EXPECT_GT(*resident_bytes(), 1 << 20);
  EXPECT_GE(*peak_resident_bytes(), *resident_bytes() / 2);
  EXPECT_GT(*available_bytes(), 0);
}

}  // namespace
}  // namespace kith
