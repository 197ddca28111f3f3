#include "kith/report/activations.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/eval/query_neighbours.h"
#include "kith/report/image_group.h"
#include "tests/support/log_capture.h"
#include "tests/support/scene.h"
#include "tests/support/torch/embedded_set.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

TEST(ActivationMaps, ChannelsAreThoseOfLargestMean) {
  Tensor features = torch::zeros({5, 2, 2});
  features[3].fill_(2);
  features[1][0][0] = 4;  // mean 1
  features[4].fill_(1);
  features[0].fill_(-7);
  const TopChannels top = top_channels(features, 3);
  EXPECT_EQ(top.channels, (std::vector<int64_t>{3, 1, 4}));
  EXPECT_EQ(top.means, (std::vector<double>{2, 1, 1}));
  EXPECT_EQ(top_channels(features, 9).channels.size(), 5U);
}

TEST(ActivationMaps, HeatRisesWithTheMapAndIgnoresItsScale) {
  Image grey(4, 1, 1);
  std::fill(grey.pixels.begin(), grey.pixels.end(), uint8_t{100});
  const Tensor features = torch::tensor({{-5.F, 0.F, 1.F, 2.F}});
  const Image heat = heat_over(grey, features);
  ASSERT_EQ(heat.channels, 3);
  // Cold: four tenths of the picture and nothing else.
  EXPECT_EQ(heat.pixels[0], 40);
  EXPECT_EQ(heat.pixels[3], 40);
  const auto brightness = [&heat](size_t x) {
    return heat.pixels[3 * x] + heat.pixels[3 * x + 1] + heat.pixels[3 * x + 2];
  };
  EXPECT_LT(brightness(1), brightness(2));
  EXPECT_LT(brightness(2), brightness(3));
  EXPECT_EQ(heat.pixels[9], 40 + 151);  // 0.6 x 252
  EXPECT_EQ(heat_over(grey, 10 * features).pixels, heat.pixels);
  // Nothing anywhere is no division by zero.
  EXPECT_EQ(heat_over(grey, torch::zeros({1, 4})).pixels,
            std::vector<uint8_t>(12, 40));
}

TEST(ActivationMaps, RowsShowThreeChannelsAndTheirMean) {
  const Image scene = draw_scene(3, 300, 200);
  const ActivationRow row =
      activation_row(scene, random_normal({6, 7, 5}, 1, at::kFloat));
  EXPECT_EQ(row.channels.size(), 3U);
  EXPECT_EQ(row.activations.size(), 3U);
  ASSERT_EQ(row.uris.size(), 4U);
  for (const std::string& uri : row.uris) {
    EXPECT_TRUE(uri.starts_with("data:image/jpeg;base64,/9j/"));
  }
  EXPECT_TRUE(row.picture.starts_with("data:image/"));
  EXPECT_EQ(activation_row(scene, torch::ones({1, 1, 1})).uris.size(), 2U);
}

class NetActivations : public ::testing::Test {
 protected:
  NetActivations()
      : net_(complete_model(parse_config(
            "{input: {size: 16}, backbone: {name: convnet, width: 6}, "
            "head: {dim: 4}}",
            "test"))) {}

  /// Six pictures of which two are wanted.
  std::vector<ActivationRow> rows() {
    InsightOptions options;
    options.activations = 2;
    RunInsight insight;
    add_activations(net_, data_, split_, options, insight);
    return insight.activations;
  }

  const std::vector<int64_t> labels_ = {1, 1, 2, 2, 3, 3};
  GlyphList data_{labels_};
  const EmbeddedSplit split_ = embedded(torch::zeros({6, 4}), labels_);
  EmbeddingNet net_;
};

TEST_F(NetActivations, AreThoseOfTheBackboneInEvaluationMode) {
  net_.train();
  const std::vector<ActivationRow> found = rows();
  EXPECT_TRUE(net_.is_training());
  ASSERT_EQ(found.size(), 2U);
  const int64_t item = draw_queries(split_.tasks[0], 2, 0)[0];
  EXPECT_EQ(found[0].label,
            "class " + std::to_string(labels_[static_cast<size_t>(item)]));

  const torch::NoGradGuard no_grad;
  net_.eval();
  Rng unused(0, Stream::kAugment);
  Image picture = prepare_image(data_.load(item), net_.input(), {}, unused);
  const Tensor pixels =
      torch::from_blob(picture.pixels.data(), {1, 16, 16, 1}, torch::kByte);
  const Tensor means =
      net_.backbone().forward(net_.prepare(pixels)).map[0].mean({1, 2});
  ASSERT_EQ(found[0].channels.size(), 3U);
  EXPECT_NEAR(found[0].activations[0], means.max().item<double>(), 1e-6);
  EXPECT_EQ(found[0].channels[0], means.argmax().item<int64_t>());
  EXPECT_EQ(rows()[0].uris, found[0].uris);
  EXPECT_FALSE(net_.is_training());
}

TEST_F(NetActivations, LeaveOutPicturesThatCannotBeRead) {
  data_.damage(draw_queries(split_.tasks[0], 2, 0)[1]);
  const LogCapture log;
  EXPECT_EQ(rows().size(), 1U);
  ASSERT_EQ(log.warnings().size(), 1U);
  EXPECT_NE(log.warnings()[0].find("damaged"), std::string::npos);
}

}  // namespace
}  // namespace kith
