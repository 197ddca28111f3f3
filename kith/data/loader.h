#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kith/data/image.h"

namespace kith {

/// Pictures of one size in one piece of memory, ready for a tensor.
struct Batch {
  std::vector<int64_t> indices;  ///< Positions in the data set's list.
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  std::shared_ptr<uint8_t[]> pixels;  ///< [count, height, width, channels]

  int64_t count() const { return static_cast<int64_t>(indices.size()); }
  size_t bytes() const {
    return static_cast<size_t>(count() * height * width * channels);
  }
};

struct LoaderOptions {
  int64_t threads = 1;   ///< Threads that decode.
  int64_t prefetch = 2;  ///< Batches decoded ahead of the one in use.
  /// Gives the memory for so many bytes of pixels, such as page-locked memory
  /// for copies to a GPU; empty: plain memory. Called by the threads, never by
  /// two at once.
  std::function<std::shared_ptr<uint8_t[]>(size_t)> allocate = {};
};

/// Loads batches in a given order with threads that work ahead. What a batch
/// holds depends on the order alone, never on timing: each image is made by
/// `load(batch, position)` and written to its own place.
///
/// An error in `load` is thrown by next() when its batch is reached; of several
/// errors in one batch, the one at the lowest position.
class Loader {
 public:
  /// Makes the picture at a position of a batch. All have the same size.
  using LoadFunction =
      std::function<Image(int64_t batch, int64_t position, int64_t index)>;

  Loader(std::vector<std::vector<int64_t>> batches, LoadFunction load,
         const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  int64_t remaining() const;

  /// The next batch; waits for it. Must not be called when none remains.
  Batch next();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// `indices` cut into runs of `size`, the last one shorter.
std::vector<std::vector<int64_t>> in_batches(
    const std::vector<int64_t>& indices, int64_t size);

}  // namespace kith
