#include "kith/data/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "kith/core/error.h"
#include "kith/core/rng.h"
#include "tests/support/expect_error.h"

namespace kith {
namespace {

using Batches = std::vector<std::vector<int64_t>>;

void sleep_us(uint64_t microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

// 2 x 3 RGB whose pixels tell what was asked for.
Image picture(int64_t batch, int64_t position, int64_t index) {
  Image image(2, 3, 3);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<uint8_t>(batch * 31 + position * 7 +
                                           index * 3 + static_cast<int64_t>(i));
  }
  return image;
}

// `count` batches of sizes 1 to 7 with indices that are not in order.
Batches some_batches(int64_t count) {
  Batches batches;
  for (int64_t b = 0; b < count; ++b) {
    std::vector<int64_t> batch;
    for (int64_t i = 0; i <= (b * 5) % 7; ++i) batch.push_back(900 - b * i);
    batches.push_back(batch);
  }
  return batches;
}

void expect_batch(const Batch& batch, int64_t number,
                  const std::vector<int64_t>& indices) {
  EXPECT_EQ(batch.indices, indices);
  EXPECT_EQ(batch.count(), static_cast<int64_t>(indices.size()));
  ASSERT_EQ(batch.parts.size(), 1u);
  const BatchPart& part = batch.parts.front();
  EXPECT_EQ(part.width, 2);
  EXPECT_EQ(part.height, 3);
  EXPECT_EQ(part.channels, 3);
  std::vector<int64_t> positions(indices.size());
  std::iota(positions.begin(), positions.end(), 0);
  EXPECT_EQ(part.positions, positions);
  std::vector<uint8_t> pixels;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Image image = picture(number, static_cast<int64_t>(i), indices[i]);
    pixels.insert(pixels.end(), image.pixels.begin(), image.pixels.end());
  }
  ASSERT_EQ(part.bytes(), pixels.size());
  EXPECT_EQ(
      std::vector<uint8_t>(part.pixels.get(), part.pixels.get() + part.bytes()),
      pixels);
}

TEST(Loader, GivesTheSameBatchesForAnyTiming) {
  const Batches batches = some_batches(25);
  for (const int64_t threads : {0, 1, 2, 5, 16}) {
    for (const int64_t prefetch : {0, 1, 4, 100}) {
      const auto load = [](int64_t batch, int64_t position, int64_t index) {
        Rng rng(0, Stream::kStep, {batch, position});
        sleep_us(rng.below(200));
        return picture(batch, position, index);
      };
      Loader loader(batches, load, {threads, prefetch});
      for (size_t b = 0; b < batches.size(); ++b) {
        EXPECT_EQ(loader.remaining(), static_cast<int64_t>(25 - b));
        expect_batch(loader.next(), static_cast<int64_t>(b), batches[b]);
      }
      EXPECT_EQ(loader.remaining(), 0);
      EXPECT_THROW(loader.next(), std::logic_error);
    }
  }
}

TEST(Loader, AsksForItsMemory) {
  const Batches batches = some_batches(20);
  std::vector<size_t> asked;  // without a lock: never called by two at once
  std::atomic<int> given_back{0};
  {
    LoaderOptions options{4, 2};
    options.allocate = [&](size_t bytes) {
      asked.push_back(bytes);
      return std::shared_ptr<uint8_t[]>(new uint8_t[bytes], [&](uint8_t* p) {
        ++given_back;
        delete[] p;
      });
    };
    Loader loader(batches, picture, options);
    for (size_t b = 0; b < batches.size(); ++b) {
      expect_batch(loader.next(), static_cast<int64_t>(b), batches[b]);
    }
  }
  EXPECT_EQ(given_back, 20);
  std::vector<size_t> expected;
  for (const auto& batch : batches) expected.push_back(batch.size() * 18);
  std::sort(asked.begin(), asked.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(asked, expected);
}

TEST(Loader, ThrowsWhenThereIsNoMemory) {
  LoaderOptions options{2, 1};
  int calls = 0;
  options.allocate = [&](size_t bytes) -> std::shared_ptr<uint8_t[]> {
    if (++calls <= 3) throw RunError("no memory");
    return std::shared_ptr<uint8_t[]>(new uint8_t[bytes]);
  };
  Loader loader({{1, 2, 3}, {4, 5, 6}, {7, 8}}, picture, options);
  expect_error<RunError>([&] { loader.next(); }, "no memory");
}

TEST(Loader, LoadsEachImageOnce) {
  const Batches batches = in_batches(std::vector<int64_t>(100, 5), 8);
  std::mutex mutex;
  std::multiset<std::pair<int64_t, int64_t>> seen;
  const auto load = [&](int64_t batch, int64_t position, int64_t) {
    const std::lock_guard lock(mutex);
    seen.emplace(batch, position);
    return Image(1, 1, 1);
  };
  Loader loader(batches, load, {3, 2});
  while (loader.remaining() > 0) loader.next();
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(
      (std::set<std::pair<int64_t, int64_t>>(seen.begin(), seen.end())).size(),
      100u);
}

TEST(Loader, WorksAheadButNotTooFar) {
  constexpr int64_t kBatch = 4;
  for (const int64_t prefetch : {0, 1, 3}) {
    std::atomic<int64_t> asked{0};
    std::atomic<int64_t> loaded{0};
    std::atomic<bool> too_far{false};
    const auto load = [&](int64_t batch, int64_t, int64_t) {
      if (batch > asked + prefetch) too_far = true;
      sleep_us(static_cast<uint64_t>(batch) % 3 * 50);
      ++loaded;
      return Image(1, 1, 1);
    };
    Loader loader(in_batches(std::vector<int64_t>(80, 0), kBatch), load,
                  {3, prefetch});
    const auto settle = [&](int64_t wanted) {
      for (int i = 0; i < 20'000 && loaded < wanted; ++i) sleep_us(500);
      sleep_us(5000);
      EXPECT_EQ(loaded, wanted);
    };
    settle((prefetch + 1) * kBatch);
    for (int64_t b = 1; b <= 5; ++b) {
      ++asked;
      loader.next();
      settle((prefetch + 1 + b) * kBatch);
    }
    while (loader.remaining() > 0) {
      ++asked;
      loader.next();
    }
    EXPECT_FALSE(too_far);
    EXPECT_EQ(loaded, 80);
  }
}

TEST(Loader, ThrowsTheFirstErrorOfABatchWhenItIsReached) {
  const auto load = [](int64_t batch, int64_t position, int64_t index) {
    // The later the position, the sooner it fails.
    sleep_us(static_cast<uint64_t>(7 - position) * 300);
    if (batch == 2 && position >= 3) {
      throw DataError("image " + std::to_string(position));
    }
    return picture(batch, position, index);
  };
  std::vector<int64_t> indices(40);
  std::iota(indices.begin(), indices.end(), 0);
  const Batches batches = in_batches(indices, 8);
  for (const int64_t threads : {1, 2, 8}) {
    Loader loader(batches, load, {threads, 3});
    expect_batch(loader.next(), 0, batches[0]);
    expect_batch(loader.next(), 1, batches[1]);
    expect_error<DataError>([&] { loader.next(); }, "image 3");
    EXPECT_EQ(loader.remaining(), 2);
    expect_batch(loader.next(), 3, batches[3]);
    expect_batch(loader.next(), 4, batches[4]);
  }
}

TEST(Loader, PassesOnWhateverIsThrown) {
  Loader loader({{1}, {2}},
                [](int64_t batch, int64_t, int64_t) -> Image {
                  if (batch == 0) throw std::bad_alloc();
                  throw 5;
                },
                {2, 1});
  EXPECT_THROW(loader.next(), std::bad_alloc);
  EXPECT_THROW(loader.next(), int);
}

TEST(Loader, RefusesImagesOfDifferentSizes) {
  for (const int other : {0, 1, 2}) {
    const auto load = [other](int64_t, int64_t position, int64_t) {
      return position < 5 ? Image(2, 3, 1)
                          : Image(other == 0 ? 3 : 2, other == 1 ? 2 : 3,
                                  other == 2 ? 3 : 1);
    };
    Loader loader({{0, 1, 2, 3, 4, 5}, {0, 1}}, load, {2, 1});
    expect_error<std::logic_error>([&] { loader.next(); }, "differ in size");
    EXPECT_EQ(loader.next().count(), 2);
  }
}

TEST(Loader, BatchesMayDifferInSize) {
  const auto load = [](int64_t batch, int64_t, int64_t) {
    return Image(static_cast<int>(batch) + 1, 2, 1);
  };
  Loader loader({{0, 1}, {2, 3}}, load, {2, 2});
  EXPECT_EQ(loader.next().parts.at(0).width, 1);
  EXPECT_EQ(loader.next().parts.at(0).width, 2);
}

// Two pictures an image: a wide one or an upright one, and a dot. The pixels
// tell the image.
std::vector<Image> wide_or_upright(int64_t, int64_t, int64_t index) {
  std::vector<Image> pictures = {
      index % 3 == 0 ? Image(1, 2, 1) : Image(2, 1, 1), Image(1, 1, 1)};
  for (Image& image : pictures) {
    for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(index);
  }
  return pictures;
}

TEST(Loader, PutsPicturesOfOneSizeTogether) {
  const Batches batches = {{4, 3, 5, 0}, {1, 2}, {6}};
  for (const int64_t threads : {1, 4}) {
    Loader loader(batches, wide_or_upright, {threads, 2});
    const Batch mixed = loader.next();
    EXPECT_EQ(mixed.indices, batches[0]);
    ASSERT_EQ(mixed.parts.size(), 3u);
    const auto expect_part = [](const BatchPart& part, int64_t height,
                                const std::vector<int64_t>& positions,
                                const std::vector<uint8_t>& pixels) {
      EXPECT_EQ(part.height, height);
      EXPECT_EQ(part.positions, positions);
      ASSERT_EQ(part.bytes(), pixels.size());
      EXPECT_EQ(std::vector<uint8_t>(part.pixels.get(),
                                     part.pixels.get() + part.bytes()),
                pixels);
    };
    expect_part(mixed.parts[0], 1, {0, 2}, {4, 4, 5, 5});
    expect_part(mixed.parts[1], 2, {1, 3}, {3, 3, 0, 0});
    expect_part(mixed.parts[2], 1, {0, 1, 2, 3}, {4, 3, 5, 0});
    EXPECT_EQ(loader.next().parts.size(), 2u);
    expect_part(loader.next().parts.at(0), 2, {0}, {6, 6});
  }
}

TEST(Loader, KeepsPicturesOfOneImageApart) {
  const auto load = [](int64_t, int64_t, int64_t) {
    return std::vector<Image>(2, Image(3, 3, 1));
  };
  Loader loader({{0, 1}}, load, {2, 1});
  const Batch batch = loader.next();
  ASSERT_EQ(batch.parts.size(), 2u);
  for (const BatchPart& part : batch.parts) {
    EXPECT_EQ(part.positions, (std::vector<int64_t>{0, 1}));
  }
}

TEST(Loader, OfAnySizePassesOnErrors) {
  const auto load = [](int64_t batch, int64_t position, int64_t index) {
    if (batch == 1 && position > 0) {
      throw DataError("image " + std::to_string(index));
    }
    return wide_or_upright(batch, position, index);
  };
  LoaderOptions options{3, 2};
  int calls = 0;
  options.allocate = [&](size_t bytes) {
    if (++calls > 6) throw RunError("no memory");
    return std::shared_ptr<uint8_t[]>(new uint8_t[bytes]);
  };
  Loader loader({{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}}, load, options);
  EXPECT_EQ(loader.next().parts.size(), 3u);
  expect_error<DataError>([&] { loader.next(); }, "image 4");
  std::vector<size_t> parts;
  for (int i = 0; i < 2; ++i) {
    try {
      parts.push_back(loader.next().parts.size());
    } catch (const RunError&) {
      parts.push_back(0);
    }
  }
  // Whichever of the two was complete first got the memory.
  EXPECT_EQ(*std::max_element(parts.begin(), parts.end()), 3u);
  EXPECT_EQ(*std::min_element(parts.begin(), parts.end()), 0u);
}

TEST(Loader, CanBeDestroyedAtAnyTime) {
  for (int64_t taken = 0; taken < 6; ++taken) {
    for (const int64_t threads : {1, 4}) {
      std::atomic<int> running{0};
      {
        const auto load = [&](int64_t batch, int64_t position, int64_t index) {
          ++running;
          sleep_us(300);
          --running;
          if (batch == 4) throw DataError("never seen");
          return picture(batch, position, index);
        };
        Loader loader(some_batches(50), load, {threads, 3});
        for (int64_t b = 0; b < std::min<int64_t>(taken, 4); ++b) {
          loader.next();
        }
        if (taken == 5) {
          EXPECT_THROW(loader.next(), DataError);
        }
      }
      EXPECT_EQ(running, 0);
    }
  }
}

TEST(Loader, GivesNoPlaceToPicturesWithoutPixels) {
  const auto load = [](int64_t batch, int64_t position, int64_t index) {
    const bool is_kept = batch == 1 || position == 0;
    return is_kept ? Image() : picture(batch, position, index);
  };
  Loader loader({{3, 4, 5}, {6, 7}}, load, {2, 1});
  const Batch some = loader.next();
  ASSERT_EQ(some.parts.size(), 1u);
  const BatchPart& part = some.parts.front();
  EXPECT_EQ(part.count(), 3);
  for (const int64_t position : {1, 2}) {
    const Image image = picture(0, position, 3 + position);
    EXPECT_TRUE(std::equal(image.pixels.begin(), image.pixels.end(),
                           part.pixels.get() + position * 18));
  }
  const Batch none = loader.next();
  EXPECT_EQ(none.indices, (std::vector<int64_t>{6, 7}));
  EXPECT_TRUE(none.parts.empty());
}

TEST(Loader, OfNothingHasNothing) {
  Loader loader({}, picture, {2, 2});
  EXPECT_EQ(loader.remaining(), 0);
  EXPECT_THROW(Loader({{}}, picture, {2, 2}), std::logic_error);
}

TEST(InBatches, CutsIntoRuns) {
  const std::vector<int64_t> indices = {5, 4, 3, 2, 1};
  EXPECT_EQ(in_batches(indices, 2), (Batches{{5, 4}, {3, 2}, {1}}));
  EXPECT_EQ(in_batches(indices, 5), (Batches{indices}));
  EXPECT_EQ(in_batches(indices, 1000), (Batches{indices}));
  EXPECT_EQ(in_batches(indices, INT64_MAX), (Batches{indices}));
  EXPECT_TRUE(in_batches({}, 3).empty());
  EXPECT_THROW(in_batches(indices, 0), std::logic_error);
}

}  // namespace
}  // namespace kith
