#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kith/data/batch.h"

namespace kith {

struct LoaderOptions {
  int64_t threads = 1;   ///< Threads that decode.
  int64_t prefetch = 2;  ///< Batches decoded ahead of the one in use.
  /// Such as page-locked memory for copies to a GPU; empty: plain memory.
  /// Called by the threads, never by two at once.
  PixelMemory allocate = {};
};

/// Loads batches in a given order with threads that work ahead. What a batch
/// holds depends on the order alone, never on timing: each image is made by
/// `load(batch, position)` and written to its own place.
///
/// An error in `load` is thrown by next() when its batch is reached; of several
/// errors in one batch, the one at the lowest position.
class Loader {
 public:
  /// Makes the picture at a position of a batch. All have the same size: the
  /// memory of a batch is there when its first picture is, and every thread
  /// copies its pictures. One without pixels has none there: `load` keeps it
  /// itself. A batch of such alone has no part.
  using LoadFunction =
      std::function<Image(int64_t batch, int64_t position, int64_t index)>;

  /// Makes the pictures at a position of a batch, at least one, of any sizes.
  /// They wait until the last one of the batch is there, for only then it is
  /// known how many have which size (join_pictures).
  using LoadPicturesFunction = std::function<std::vector<Image>(
      int64_t batch, int64_t position, int64_t index)>;

  Loader(std::vector<std::vector<int64_t>> batches, LoadFunction load,
         const LoaderOptions& options);
  Loader(std::vector<std::vector<int64_t>> batches, LoadPicturesFunction load,
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
