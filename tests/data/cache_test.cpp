#include "kith/data/cache.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

// Draws pictures of 10 x 10 and counts how often; the one at 7 is broken.
class Counting final : public DataSet {
 public:
  explicit Counting(size_t count) : reads(count) { list_.items.resize(count); }

  mutable std::vector<std::atomic<int>> reads;

 protected:
  StoredImage read(int64_t index) const override {
    ++reads[static_cast<size_t>(index)];
    if (index == 7) throw DataError("broken");
    Image image(10, 10, 1);
    for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(index);
    return image;
  }
};

constexpr int64_t kOne = static_cast<int64_t>(sizeof(Image)) + 100;

TEST(ImageCache, KeepsUntilTheBudgetIsSpent) {
  const Counting data(6);
  ImageCache cache(data, 4 * kOne + kOne / 2);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int64_t i = 5; i >= 0; --i) {
      const auto image = cache.load(i);
      EXPECT_EQ(image->pixels, data.load(i).pixels);
    }
    EXPECT_EQ(cache.stats().count, 4);
    EXPECT_EQ(cache.stats().bytes, 4 * kOne);
    EXPECT_TRUE(cache.stats().full);
  }
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(data.reads[i], 3 + (i >= 2 ? 1 : 3)) << i;
  }
}

TEST(ImageCache, KeepsAllOrNothing) {
  const Counting data(3);
  ImageCache all(data, 3 * kOne);
  ImageCache none(data, 0);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (int64_t i = 0; i < 3; ++i) {
      all.load(i);
      none.load(i);
    }
  }
  EXPECT_EQ(all.stats().count, 3);
  EXPECT_FALSE(all.stats().full);
  EXPECT_EQ(none.stats().count, 0);
  EXPECT_EQ(none.stats().bytes, 0);
  EXPECT_TRUE(none.stats().full);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(data.reads[i], 1 + 2);
}

TEST(ImageCache, PassesErrorsOnEachTime) {
  const Counting data(8);
  ImageCache cache(data, 100 * kOne);
  for (int i = 0; i < 2; ++i) {
    expect_error<DataError>([&] { cache.load(7); }, "broken");
  }
  EXPECT_EQ(cache.stats().count, 0);
  for (const int64_t beyond : {int64_t{8}, int64_t{-1}}) {
    const std::string said = "no image " + std::to_string(beyond);
    expect_error<ConfigError>([&] { cache.load(beyond); }, said, "8 images");
    expect_error<ConfigError>([&] { data.load(beyond); }, said, "8 images");
  }
}

TEST(ImageCache, ServesSeveralThreads) {
  const Counting data(6);
  ImageCache cache(data, 4 * kOne);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 600; ++i) {
        const int64_t index = (i * (t + 1)) % 6;
        if (cache.load(index)->pixels[99] != index) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache.stats().count, 4);
  EXPECT_EQ(cache.stats().bytes, 4 * kOne);
}

}  // namespace
}  // namespace kith
