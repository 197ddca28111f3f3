#include "kith/eval/embed_pictures.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/error.h"
#include "kith/models/backbones.h"
#include "kith/ops/pairwise.h"
#include "tests/support/expect_error.h"
#include "tests/support/torch/memory_set.h"
#include "tests/support/torch/tensors.h"

namespace kith {
namespace {

/// Grey pictures of noise in a few sizes, one of which is usual; the last has a
/// box.
class MixedSet final : public DataSet {
 public:
  explicit MixedSet(int64_t count) {
    list_.items = paired_items(count, Split::kTest);
    list_.items.back().box = Box{3, 2, 21, 14};
  }

 protected:
  StoredImage read(int64_t index) const override {
    const Size sizes[] = {{40, 24}, {24, 40}, {40, 24}, {25, 19}, {9, 60}};
    const Size& size = sizes[index % 5];
    Image image(size.width, size.height, 1);
    Rng rng(7, Stream::kReport, {index});
    for (uint8_t& pixel : image.pixels) {
      pixel = static_cast<uint8_t>(rng.below(256));
    }
    return image;
  }
};

class EmbedPictures : public ::testing::Test {
 protected:
  EmbedPictures()
      : net_(complete_model(parse_config(
            "{input: {size: 16}, backbone: {name: convnet, width: 4}, "
            "head: {dim: 6}}",
            "test"))) {
    // Statistics of batch norm that are not the initial ones.
    const torch::NoGradGuard no_grad;
    net_.forward(random_normal({8, 1, 16, 16}, 1, at::kFloat));
    for (int64_t i = 0; i < kCount; ++i) all_.push_back(i);
  }

  static DescriptorOptions read(const std::string& yaml) {
    return read_options<DescriptorOptions>(parse_config(yaml, "r.yaml"),
                                           "eval");
  }

  Tensor run(const std::string& yaml, const std::vector<int64_t>& indices,
             int64_t batch = 4, int64_t threads = 2) {
    EmbedOptions options{batch, {threads, 2}};
    options.descriptor = read(yaml);
    return embed(net_, data_, indices, options, silent_progress());
  }

  /// The unit embedding of one picture, [dim].
  Tensor unit(const Image& image, bool mirrored = false) {
    const torch::NoGradGuard no_grad;
    net_.eval();
    const Tensor pixels =
        torch::tensor(at::ArrayRef<uint8_t>(image.pixels), torch::kByte)
            .view({1, image.height, image.width, image.channels});
    const Tensor embedding =
        net_.forward(net_.prepare(mirrored ? pixels.flip({2}) : pixels))[0];
    return embedding / embedding.norm();
  }

  static constexpr int64_t kCount = 12;
  EmbeddingNet net_;
  MixedSet data_{kCount};
  std::vector<int64_t> all_;
};

TEST_F(EmbedPictures, AreTheMeanOfScalesAndMirrorImages) {
  const std::string cases[] = {"scales: [1, 0.70710678, 0.5]",
                               "{scales: [1, 1.5], flip: true}", "flip: true",
                               "{long_side: 30, scales: [1, 0.70710678, 0.5]}",
                               "{long_side: 30, flip: true, scales: [1, 0.5]}"};
  for (const std::string& yaml : cases) {
    const DescriptorOptions options = read(yaml);
    const Tensor got = run(yaml, all_);
    ASSERT_EQ(got.sizes(), (std::vector<int64_t>{kCount, 6}));
    EXPECT_EQ(got.scalar_type(), at::kFloat);
    for (const int64_t i : all_) {
      Tensor sum = torch::zeros({6});
      for (const Image& picture :
           make_pictures(data_.load(i), net_.input(), options)) {
        sum += unit(picture);
        if (options.flip) sum += unit(picture, true);
      }
      EXPECT_LE(max_difference(got[i], sum / sum.norm()), 1e-6) << yaml << i;
    }
  }
}

TEST_F(EmbedPictures, OfManySizesComeInTheOrderAskedFor) {
  const std::string yaml = "{long_side: 30, scales: [1, 0.5]}";
  const std::vector<int64_t> order = {11, 0, 3, 3, 7, 1, 4, 9, 11, 5, 6, 10};
  const Tensor together = run(yaml, order, 3);
  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_LE(max_difference(together[static_cast<int64_t>(i)],
                             run(yaml, {order[i]})[0]),
              1e-6);
  }
  for (const int64_t batch : {1, 2, 100}) {
    EXPECT_LE(max_difference(run(yaml, order, batch), together), 1e-6);
  }
}

TEST_F(EmbedPictures, DoNotDependOnThreads) {
  const std::string yaml = "{long_side: 30, flip: true, scales: [1, 0.7, 0.5]}";
  const Tensor one = run(yaml, all_, 4, 1);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(same_bits(run(yaml, all_, 4, 5), one));
  ImageCache cache(data_, 1 << 20);
  EmbedOptions options{4, {3, 2}, &cache};
  options.descriptor = read(yaml);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(
        same_bits(embed(net_, data_, all_, options, silent_progress()), one));
  }
}

// The last image has a box: its picture has the box's shape.
TEST_F(EmbedPictures, AreOfTheBox) {
  const Image image = data_.load(kCount - 1);
  ASSERT_EQ(image.width, 18);
  ASSERT_EQ(image.height, 12);
  EXPECT_LE(max_difference(run("long_side: 64", {kCount - 1})[0], unit(image)),
            1e-6);
}

TEST_F(EmbedPictures, PlainAreTheNetworksOwn) {
  EmbedOptions options{4, {2, 2}};
  const Tensor plain = embed(net_, data_, all_, options, silent_progress());
  EXPECT_TRUE(same_bits(run("scales: [1]", all_), plain));
  EXPECT_LE(max_difference(run("scales: [1, 1]", all_), plain), 1e-6);
}

TEST_F(EmbedPictures, AreWhitenedAtTheEnd) {
  const std::string yaml = "{long_side: 30, scales: [1, 0.5]}";
  const Tensor raw = run(yaml, all_);
  const Whitening whitening = Whitening::learn(raw, 4);
  EmbedOptions options{4, {2, 2}};
  options.descriptor = read(yaml);
  options.whitening = &whitening;
  const Tensor got = embed(net_, data_, all_, options, silent_progress());
  EXPECT_LE(max_difference(got, whitening.apply(raw)), 1e-4);
  EXPECT_EQ(got.size(1), 4);
}

// Values that were set in the struct, not read from a configuration.
TEST_F(EmbedPictures, OfAScaleOutOfRangeAreRefused) {
  DescriptorOptions options;
  for (const double scale : {0.0, -1.0, 1e9, std::nan("")}) {
    options.scales = {1, scale};
    expect_error<ConfigError>([&] { options.check(net_.backbone()); },
                              "eval.scales");
  }
}

TEST_F(EmbedPictures, LeaveTheMode) {
  for (const bool training : {true, false}) {
    net_.train(training);
    run("flip: true", {0, 1});
    EXPECT_EQ(net_.is_training(), training);
  }
}

TEST_F(EmbedPictures, OfAFileThatIsBrokenAreAnError) {
  const auto data = make_file_set({"/nowhere/a.png", "/nowhere/b.png"});
  EmbedOptions options{4, {2, 2}};
  options.descriptor = read("long_side: 64");
  expect_error<DataError>(
      [&] {
        embed(net_, *data, {0, 1}, options, silent_progress());
      },
      "/nowhere/a.png");
}

TEST(FixedSize, RefusesOtherSizes) {
  const Mlp fixed({}, BackboneInput{1, 16, "train"});
  DescriptorOptions options;
  options.flip = true;
  options.scales = {1, 1};
  options.check(fixed);
  options.scales = {1, 0.5};
  expect_error<ConfigError>([&] { options.check(fixed); }, "'eval.scales'",
                            "mlp", "resnet50");
  options.long_side = 64;
  expect_error<ConfigError>([&] { options.check(fixed); }, "'eval.long_side'");

  EmbeddingNet mlp(complete_model(
      parse_config("{input: {size: 8}, backbone: {name: mlp}}", "test")));
  const MemorySet data(paired_items(2, Split::kTest));
  EmbedOptions embed_options{4, {2, 2}};
  embed_options.descriptor.long_side = 16;
  expect_error<ConfigError>(
      [&] {
        embed(mlp, data, {0, 1}, embed_options, silent_progress());
      },
      "'eval.long_side'", "mlp");
}

TEST(Patches, FillThePicturesOfEveryScale) {
  InputOptions input{.size = 28, .resize = 32, .colour = "grey"};
  input.patch = 14;
  DescriptorOptions options;
  options.scales = {1, 0.7, 0.1, 1.4};
  const Image image(50, 31, 1);
  std::vector<int> sides;
  for (const Image& picture : make_pictures(image, input, options)) {
    EXPECT_EQ(picture.width, picture.height);
    sides.push_back(picture.width);
  }
  EXPECT_EQ(sides, (std::vector<int>{28, 14, 14, 42}));
  options.long_side = 40;
  options.scales = {1};
  const std::vector<Image> whole = make_pictures(image, input, options);
  EXPECT_EQ(whole[0].width, 42);   // 40
  EXPECT_EQ(whole[0].height, 28);  // 25
}

}  // namespace
}  // namespace kith
