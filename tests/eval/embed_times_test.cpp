#include "kith/eval/embed_times.h"

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kith/eval/embed.h"
#include "tests/support/torch/memory_set.h"

namespace kith {
namespace {

TEST(EmbedTimes, SayWhatTheTimeGoesTo) {
  EXPECT_EQ((EmbedTimes{8122, 3.125, 0.05}.text()),
            "8122 images in 3.1 s, 2599 images/s; bound by the network (2% of "
            "the time waiting for pictures)");
  EXPECT_EQ((EmbedTimes{100, 10, 9.5}.text()),
            "100 images in 10.0 s, 10 images/s; bound by decoding (95% of the "
            "time waiting for pictures)");
  EXPECT_EQ(
      (EmbedTimes{100, 10, 1, 6}.text()),
      "100 images in 10.0 s, 10 images/s; bound by copies to the GPU (10% "
      "of the time waiting for pictures, 60% for copies to the GPU)");
  EXPECT_EQ((EmbedTimes{100, 10, 1, 0.01, 6}.text()),
            "100 images in 10.0 s, 10 images/s; bound by writing (10% of the "
            "time waiting for pictures, 60% for writing)");
  EXPECT_EQ(EmbedTimes().text(),
            "0 images in 0.0 ms, 0 images/s; bound by the network (0% of the "
            "time waiting for pictures)");
}

TEST(EmbedTimes, SayTheSecondsOfEachPart) {
  EXPECT_EQ((EmbedTimes{100, 10, 1, 2, 0.5, 0.25}.parts()),
            "first pictures 0.250, other pictures 0.750, copies 2.000, network "
            "6.500, writing 0.500");
}

TEST(EmbedTimes, AreThoseOfPicturesThatComeSlowly) {
  EmbeddingNet net(
      complete_model(parse_config("{input: {size: 16}, backbone: {name: "
                                  "convnet, width: 4}, head: {dim: 6}}",
                                  "test")));
  const MemorySet data(paired_items(8, Split::kTest));
  EmbedTimes times;
  EmbedOptions options{2, {1, 1}};
  options.times = &times;
  options.change = [](const Image& picture, int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return picture;
  };
  for (const bool flip : {false, true}) {
    times = {};
    options.descriptor.flip = flip;
    embed(net, data, {0, 1, 2, 3, 4, 5, 6, 7}, options, silent_progress());
    EXPECT_EQ(times.images, 8);
    EXPECT_GT(times.waiting, 0.1);
    EXPECT_GE(times.seconds, times.waiting);
    EXPECT_GT(times.first, 0.05);
    EXPECT_GT(times.waiting, times.first);
    EXPECT_EQ(times.bound(), "decoding");
  }
}

}  // namespace
}  // namespace kith
