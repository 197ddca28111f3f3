#include "kith/eval/batch_upload.h"

#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "kith/core/file.h"
#include "kith/eval/embed.h"
#include "kith/image/encode.h"
#include "tests/support/expect_error.h"
#include "tests/support/jpegs.h"
#include "tests/support/pictures.h"
#include "tests/support/scene.h"
#include "tests/support/temp_dir.h"

namespace kith {
namespace {

constexpr int64_t kImages = 30;

/// Files of every kind: most are finished by the device, some are not.
class BatchUploads : public ::testing::Test {
 protected:
  BatchUploads() : data_(files()) {
    input_.size = 24;
    input_.resize = 28;
    input_.colour = "rgb";
  }

  ImageList files() {
    ImageList list;
    for (int64_t i = 0; i < kImages; ++i) {
      const int side = static_cast<int>(20 + 7 * i);
      const Image scene = draw_scene(i, side, 260 - side);
      const std::string path = dir_.file(std::to_string(i) + ".jpg");
      const JpegKind kind = {.quality = static_cast<int>(30 + 2 * i),
                             .across = i % 3 == 0 ? 1 : 2,
                             .down = i % 3 == 2 ? 2 : 1,
                             .progressive = i % 7 == 3};
      if (i == 11) {
        write_png(path, scene);
      } else {
        write_file(
            path, jpeg_bytes(i == 12 ? noise_picture(30, 20, 1) : scene, kind));
      }
      list.items.push_back({.path = path, .split = Split::kTest});
    }
    list.items[4].box = Box{3, 2, 30, 40};
    list.items[5].quarter_turns = 1;
    return list;
  }

  Image picture(int64_t index) const {
    Rng unused(0, Stream::kAugment);
    return prepare_image(data_.load(index), input_, {}, unused);
  }

  void expect_pixels_on(c10::Device device) const {
    std::vector<int64_t> all(kImages);
    std::iota(all.begin(), all.end(), 0);
    CodedBatches coded(input_);
    int64_t taken = 0;
    const auto load = [&](int64_t batch, int64_t position, int64_t index) {
      Rng unused(0, Stream::kAugment);
      const auto image = data_.load_unless(index, coded.taker(batch, position));
      return image ? prepare_image(*image, input_, {}, unused) : Image();
    };
    Loader loader(in_batches(all, 8), load, {3, 2, page_locked});
    while (loader.remaining() > 0) {
      const Batch batch = loader.next();
      const auto half_decoded = coded.next();
      for (const auto& piece : half_decoded->pieces()) taken += piece.count;
      const BatchUpload upload(batch, half_decoded, input_, device);
      const Tensor pixels = upload.get().cpu();
      upload.wait();
      ASSERT_EQ(pixels.sizes(),
                (std::vector<int64_t>{batch.count(), 24, 24, 3}));
      for (int64_t i = 0; i < batch.count(); ++i) {
        Image expected = picture(batch.indices[static_cast<size_t>(i)]);
        EXPECT_TRUE(torch::equal(
            pixels[i], torch::from_blob(expected.pixels.data(), {24, 24, 3},
                                        torch::kByte)))
            << batch.indices[static_cast<size_t>(i)];
      }
    }
    // All but four progressive ones, a PNG, a box and a turn.
    EXPECT_EQ(taken, kImages - 7);
  }

  const TempDir dir_;
  ListDataSet data_;
  InputOptions input_;
};

TEST_F(BatchUploads, HaveThePixelsOfPreparedPictures) {
  expect_pixels_on(torch::kCPU);
}

TEST_F(BatchUploads, HaveThePixelsOfPreparedPicturesOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  expect_pixels_on({torch::kCUDA, 0});
}

/// With a change that changes nothing the processor does all of the decoding.
TEST_F(BatchUploads, GiveTheSameEmbeddingsOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no CUDA device";
  EmbeddingNet net(complete_model(parse_config(
      "{input: {size: 32, resize: 36, colour: rgb}, backbone: {name: convnet, "
      "width: 4}, head: {dim: 6}}",
      "test")));
  net.to(torch::Device(torch::kCUDA, 0));
  std::vector<int64_t> all(kImages);
  std::iota(all.begin(), all.end(), 0);
  EmbedOptions options{8, {3, 2}};
  const Tensor found = embed(net, data_, all, options, silent_progress());
  options.change = [](const Image& image, int64_t) { return image; };
  EXPECT_TRUE(
      torch::equal(found, embed(net, data_, all, options, silent_progress())));
}

TEST(CodedBatchesTest, AreThoseOfEachBatchInTurn) {
  InputOptions input;
  input.size = 8;
  input.colour = "rgb";
  CodedBatches coded(input);
  const std::string file = jpeg_bytes(draw_scene(1, 30, 20));
  const std::span bytes(reinterpret_cast<const uint8_t*>(file.data()),
                        file.size());
  EXPECT_TRUE(coded.taker(1, 0)(bytes, "x"));
  EXPECT_TRUE(coded.taker(0, 3)(bytes, "x"));
  EXPECT_TRUE(coded.taker(1, 5)(bytes, "x"));
  const auto first = coded.next();
  ASSERT_EQ(first->pieces().size(), 1U);
  EXPECT_EQ(first->pieces().front().count, 1);
  EXPECT_EQ(coded.next()->pieces().front().count, 2);
  EXPECT_EQ(coded.next(), nullptr);
}

}  // namespace
}  // namespace kith
