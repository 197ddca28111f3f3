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

TEST(ActivationMaps, ChannelsAreThoseMostAboveTheUsual) {
  Tensor features = torch::zeros({5, 2, 2});
  features[3].fill_(2);
  features[1][0][0] = 4;  // mean 1
  features[4].fill_(1);
  features[0].fill_(-7);
  const TopChannels top = top_channels(features, torch::zeros({5}), 3);
  EXPECT_EQ(top.channels, (std::vector<int64_t>{3, 1, 4}));
  EXPECT_EQ(top.means, (std::vector<double>{2, 1, 1}));
  EXPECT_EQ(top_channels(features, torch::zeros({5}), 9).channels.size(), 5U);
  // One that all pictures excite says nothing of this one.
  const Tensor usual = torch::tensor({0.F, 0.F, 0.F, 2.F, 0.F});
  EXPECT_EQ(top_channels(features, usual, 1).channels[0], 1);
}

/// A network that sees one pixel in each corner of a quarter of the picture.
Tensor see_quarter(const Tensor& pixels) {
  const Tensor quarter =
      pixels.to(torch::kFloat).slice(1, 0, 16).slice(2, 16, 32);
  return torch::cat(
      {quarter.flatten(1) - 100, torch::ones({pixels.size(0), 1})}, 1);
}

TEST(CoverEffect, IsWhereTheNetworkLooks) {
  Image picture(32, 32, 1);
  for (size_t i = 0; i < picture.pixels.size(); ++i) {
    picture.pixels[i] = i * 7919 % 251 > 125 ? 230 : 20;
  }
  const Tensor effect = cover_effect(picture, see_quarter);
  ASSERT_EQ(effect.sizes(), (std::vector<int64_t>{10, 10}));
  EXPECT_GE(effect.min().item<double>(), 0);
  const double inside = effect[2][7].item<double>();
  EXPECT_GT(inside, 0.01);
  EXPECT_GT(inside, 50 * effect[7][2].item<double>());
  EXPECT_GT(inside, 50 * effect[2][1].item<double>());
}

TEST(CoverEffect, OfNothingToSeeIsNothing) {
  Image picture(32, 32, 1);
  std::fill(picture.pixels.begin(), picture.pixels.end(), uint8_t{77});
  EXPECT_LT(cover_effect(picture, see_quarter).max().item<double>(), 1e-6);
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

TEST(ActivationMaps, RowsShowWhatMattersAndThreeChannels) {
  const Image scene = draw_scene(3, 300, 200);
  const Tensor effect = torch::rand({10, 10}, torch::kDouble);
  const ActivationRow row =
      activation_row(scene, effect, random_normal({6, 7, 5}, 1, at::kFloat),
                     torch::zeros({6}, torch::kDouble));
  EXPECT_EQ(row.channels.size(), 3U);
  EXPECT_EQ(row.activations.size(), 3U);
  EXPECT_EQ(row.moved, effect.max().item<double>());
  ASSERT_EQ(row.uris.size(), 3U);
  for (const std::string& uri : row.uris) {
    EXPECT_TRUE(uri.starts_with("data:image/jpeg;base64,/9j/"));
  }
  EXPECT_TRUE(row.cover.starts_with("data:image/jpeg;base64,/9j/"));
  EXPECT_TRUE(row.picture.starts_with("data:image/"));
  EXPECT_TRUE(activation_row(scene, effect, {}, {}).uris.empty());
}

std::unique_ptr<EmbeddingNet> net_of(int size) {
  return std::make_unique<EmbeddingNet>(
      complete_model(parse_config("{input: {size: " + std::to_string(size) +
                                      "}, backbone: {name: convnet, width: 6}, "
                                      "head: {dim: 4}}",
                                  "test")));
}

class NetActivations : public ::testing::Test {
 protected:
  /// Six pictures of which two are wanted.
  RunInsight look() {
    InsightOptions options;
    options.activations = 2;
    RunInsight insight;
    add_activations(*net_, data_, split_, options, insight);
    return insight;
  }

  std::vector<ActivationRow> rows() { return look().activations; }

  /// [F], the means of the channels over a picture.
  Tensor means_of(int64_t item) {
    const torch::NoGradGuard no_grad;
    net_->eval();
    Rng unused(0, Stream::kAugment);
    Image picture = prepare_image(data_.load(item), net_->input(), {}, unused);
    const Tensor pixels =
        torch::from_blob(picture.pixels.data(),
                         {1, picture.height, picture.width, 1}, torch::kByte);
    return net_->backbone()
        .forward(net_->prepare(pixels))
        .map[0]
        .to(torch::kDouble)
        .mean({1, 2});
  }

  const std::vector<int64_t> labels_ = {1, 1, 2, 2, 3, 3};
  GlyphList data_{labels_};
  const EmbeddedSplit split_ = embedded(torch::zeros({6, 4}), labels_);
  std::unique_ptr<EmbeddingNet> net_ = net_of(48);
};

TEST_F(NetActivations, AreThoseOfTheBackboneInEvaluationMode) {
  net_->train();
  const std::vector<ActivationRow> found = rows();
  EXPECT_TRUE(net_->is_training());
  ASSERT_EQ(found.size(), 2U);
  const int64_t item = draw_queries(split_.tasks[0], 2, 0)[0];
  EXPECT_EQ(found[0].label,
            "class " + std::to_string(labels_[static_cast<size_t>(item)]));
  Tensor above = means_of(item);
  for (int64_t other = 0; other < 6; ++other) above -= means_of(other) / 6;
  ASSERT_EQ(found[0].channels.size(), 3U);
  EXPECT_NEAR(found[0].activations[0], above.max().item<double>(), 1e-6);
  EXPECT_EQ(found[0].channels[0], above.argmax().item<int64_t>());
  EXPECT_GT(found[0].moved, 0);
  EXPECT_EQ(rows()[0].uris, found[0].uris);
  EXPECT_EQ(rows()[0].cover, found[0].cover);
  EXPECT_FALSE(net_->is_training());
}

TEST_F(NetActivations, OfASmallMapHaveNoChannelsAndSayWhy) {
  net_ = net_of(16);
  const RunInsight insight = look();
  ASSERT_EQ(insight.activations.size(), 2U);
  EXPECT_TRUE(insight.activations[0].uris.empty());
  EXPECT_TRUE(insight.activations[0].cover.starts_with("data:image/"));
  EXPECT_NE(insight.activations_note.find("16 x 16 pixels the network's last "
                                          "feature map has 2 x 2 places"),
            std::string::npos);
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
